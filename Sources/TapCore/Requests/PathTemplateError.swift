/// A path template is misspelt, so that it does not match the intended paths.
///
/// Such an error is a mistake in the program. ``PathTemplates/validate()`` throws it, and so does making a
/// tap. Its description names the template and the right spelling.
public struct PathTemplateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The template as given, at most 256 bytes of it.
  public let template: String
  /// The right spelling, such as `/users/{id}` for `/users/:id`, at most 256 bytes of it.
  public let spelling: String

  /// The cause and the remedy in one line.
  public var description: String {
    "path template '\(template)' does not fit the paths that it is meant for: write \(remedy) (a parameter "
      + "is a whole segment in braces with a name of its own, '*' is the last one, the first character is '/', "
      + "a blank is '%20')"
  }

  private var remedy: String {
    let segment = template.split(separator: "/").last ?? ""
    let isTwo = template.last == "*" && Self.word(beforeStarOf: segment) != nil
    return isTwo ? "'\(spelling.dropLast(2))' and '\(spelling)'" : "'\(spelling)'"
  }

  /// `nil` if the template is in the right spelling.
  init?(of template: String) {
    let spelling = Self.spelling(of: template)
    guard !spelling.utf8.elementsEqual(template.utf8) else { return nil }
    func cut(_ text: String) -> String { String(text.prefix(utf8Length: RenderedLabels.maximumValueLength)) }
    (self.template, self.spelling) = (cut(template), cut(spelling))
  }

  /// A template as it has to be: that is what a right one already is.
  private static func spelling(of template: String) -> String {
    // The path is all that is compared (RFC 3986, section 3). Blanks around it are no part of it.
    let path = template.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let end = path.lastIndex { !isBlank($0) }.map(path.index(after:)) ?? path.startIndex
    var segments = path[..<end].drop(while: isBlank)
      .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
    let hasScheme = segments.count > 2 && segments[0].last == UInt8(ascii: ":") && segments[1].isEmpty
    if hasScheme { segments = segments.dropFirst(2) }
    if hasScheme || segments.first?.isEmpty == true { segments = segments.dropFirst() }
    let last = segments.endIndex - 1
    let spellings = segments.indices.map { Self.segment(Substring(segments[$0]), isLast: $0 == last) }
    return spellings.isEmpty ? "/" : withOwnNames(spellings).map { "/" + $0 }.joined()
  }

  /// Adds a number to the name of a parameter that an earlier one has.
  private static func withOwnNames(_ segments: [String]) -> [String] {
    var (names, counts) = (Set(segments), [String: Int]())
    return segments.map { segment in
      guard segment.first == "{", var count = counts[segment] else {
        counts[segment] = 1
        return segment
      }
      var numbered: String
      repeat {
        count += 1
        numbered = "\(segment.dropLast())\(count)}"
      } while !names.insert(numbered).inserted
      counts[segment] = count
      return numbered
    }
  }

  /// What stands before the star of a segment such as `health*`, which is meant for `/health` as well as for
  /// what is below.
  private static func word(beforeStarOf segment: Substring) -> Substring? {
    let word = segment.prefix { $0 != "*" }
    guard let last = word.last, last.isLetter || last.isNumber, word.first != ":",
      !word.contains(where: isMark),
      word.endIndex < segment.endIndex, segment[word.endIndex...].allSatisfy({ $0 == "*" })
    else { return nil }
    return word
  }

  private static func isMark(_ character: Character) -> Bool { "{}<>".contains(character) }

  /// No URL has such a byte as it is.
  private static func isBlank(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F }

  /// Others write a parameter as `:id`, `<id>` or `<int:id>`, or as a part of a segment.
  private static func segment(_ text: Substring, isLast: Bool) -> String {
    if text.contains("*") {
      return isLast ? Self.word(beforeStarOf: text).map { "\(encoded($0))/*" } ?? "*" : "{name}"
    }
    guard text.first == ":" || text.contains(where: isMark) else { return encoded(text) }
    let start = text.firstIndex { $0 == "{" || $0 == "<" } ?? text.startIndex
    let inner = text[start...].drop(while: isMark).prefix { !isMark($0) }
    // Within braces a colon is part of the name.
    let name = text[start] == "{" ? inner : inner.split(separator: ":").last ?? ""
    let words = name.utf8.split(whereSeparator: isBlank).map { String(Substring($0)) }
    return "{\(words.isEmpty ? "name" : words.joined(separator: "_"))}"
  }

  /// A literal segment with its blanks percent-encoded, as they are in a URL.
  private static func encoded(_ literal: Substring) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = literal.utf8.flatMap { byte in
      isBlank(byte) ? [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]] : [byte]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
