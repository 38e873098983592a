/// A path template is misspelt, so that it does not match the intended paths.
///
/// Such an error is a mistake in the program. ``PathTemplates/validate()`` throws it, and so does making a
/// tap.
public struct PathTemplateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The template as given, at most 256 bytes of it.
  public let template: String

  /// The cause and the remedy in one line.
  public var description: String {
    "path template '\(template)' does not match the intended paths: spell it like '/users/{id}/files/*' "
      + "(first a '/'; a parameter is a whole segment in braces, with a name of its own; a '*' is the last "
      + "segment; no query, and no blanks)"
  }

  /// `nil` if the template is spelt right.
  init?(of template: String) {
    let segments = template.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let parameters = segments.filter { $0.first == UInt8(ascii: "{") }.map { String(Substring($0)) }
    let isRight =
      segments.count > 1 && segments[0].isEmpty && Set(parameters).count == parameters.count
      && template.utf8.allSatisfy { $0 > 0x20 && !"?#\u{7F}".utf8.contains($0) }
      && segments.dropLast().allSatisfy(Self.isRight)
      && segments.last.map { $0.elementsEqual("*".utf8) || Self.isRight($0) } == true
    if isRight { return nil }
    self.template = String(template.prefix(utf8Length: RenderedLabels.maximumValueLength))
  }

  /// Whether a segment is a parameter, or literal. Other libraries write a parameter as `:id` or `<id>`.
  private static func isRight(_ segment: Substring.UTF8View) -> Bool {
    let isParameter =
      segment.count > 2 && segment.first == UInt8(ascii: "{") && segment.last == UInt8(ascii: "}")
    let name = isParameter ? segment.dropFirst().dropLast() : segment
    return segment.first != UInt8(ascii: ":") && !name.contains { "{}<>*".utf8.contains($0) }
  }
}
