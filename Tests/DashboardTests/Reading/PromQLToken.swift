/// A piece of a PromQL expression: as much of the grammar as it takes to tell names from the rest.
enum PromQLToken: Equatable {
  /// A metric, a label, a function or a keyword. `:` is part of a recorded metric's name.
  case name(String)
  case text(String)
  case symbol(Character)

  /// The tokens of an expression. What stands in brackets is a range; numbers, blanks, comments and Grafana's
  /// variables are left out.
  static func all(in expression: String) -> [PromQLToken] {
    var tokens: [PromQLToken] = []
    var rest = Substring(expression)
    while let first = rest.first {
      switch first {
      case "\"", "'", "`": tokens.append(.text(takeText(from: &rest)))
      case "[": rest = rest.drop { $0 != "]" }.dropFirst()
      case "#": rest = rest.drop { $0 != "\n" }
      case "$": rest = rest.dropFirst().drop { isNamePart($0) }
      case _ where isNamePart(first):
        let word = rest.prefix { isNamePart($0) }
        rest = rest.dropFirst(word.count)
        // A number or a duration begins with a digit.
        if !first.isNumber { tokens.append(.name(String(word))) }
      case _ where first.isWhitespace: rest = rest.dropFirst()
      default:
        tokens.append(.symbol(first))
        rest = rest.dropFirst()
      }
    }
    return tokens
  }

  private static func takeText(from rest: inout Substring) -> String {
    let quote = rest.removeFirst()
    var text = ""
    while let character = rest.popFirst(), character != quote {
      if character == "\\", quote != "`", let escaped = rest.popFirst() {
        text.append(escaped)
      } else {
        text.append(character)
      }
    }
    return text
  }

  private static func isNamePart(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || character == "_" || character == ":")
  }
}
