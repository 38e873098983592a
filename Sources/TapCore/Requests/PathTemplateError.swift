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
    "path template '\(template)' does not fit the paths that it is meant for: write \(remedy) (a parameter is a whole "
      + "segment in braces, '*' is the last one, the first character is '/')"
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
    // The path is all that is compared (RFC 3986, section 3).
    let path = template.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    var segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
    let hasScheme = segments.count > 2 && segments[0].last == UInt8(ascii: ":") && segments[1].isEmpty
    if hasScheme { segments = segments.dropFirst(2) }
    if hasScheme || segments.first?.isEmpty == true { segments = segments.dropFirst() }
    let last = segments.endIndex - 1
    return segments.indices.reduce(into: segments.isEmpty ? "/" : "") { spelling, index in
      spelling += "/" + Self.segment(Substring(segments[index]), isLast: index == last)
    }
  }

  /// What stands before the star of a segment such as `health*`, which is meant for `/health` as well as for what is below.
  private static func word(beforeStarOf segment: Substring) -> Substring? {
    let word = segment.prefix { $0 != "*" }
    guard let last = word.last, last.isLetter || last.isNumber, word.first != ":",
      !word.contains(where: isMark),
      word.endIndex < segment.endIndex, segment[word.endIndex...].allSatisfy({ $0 == "*" })
    else { return nil }
    return word
  }

  private static func isMark(_ character: Character) -> Bool { "{}<>".contains(character) }

  /// Others write a parameter as `:id`, `<id>` or `<int:id>`, or as a part of a segment.
  private static func segment(_ text: Substring, isLast: Bool) -> String {
    if text.contains("*") {
      return isLast ? Self.word(beforeStarOf: text).map { "\($0)/*" } ?? "*" : "{name}"
    }
    guard text.first == ":" || text.contains(where: isMark) else { return String(text) }
    let start = text.firstIndex { $0 == "{" || $0 == "<" } ?? text.startIndex
    let inner = text[start...].drop(while: isMark).prefix { !isMark($0) }
    // Within braces a colon is part of the name.
    let name = text[start] == "{" ? inner : inner.split(separator: ":").last ?? ""
    return "{\(name.isEmpty ? "name" : name)}"
  }
}
