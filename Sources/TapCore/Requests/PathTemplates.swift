/// Finds the template of a path, such as `/users/{id}` for `/users/42`.
///
/// A template is a list of segments. `{name}` stands for any one segment that is not empty, a last `*` for
/// all that follows, at least one segment; everything else stands for itself, byte for byte. Of several
/// templates that fit, the one wins that is literal where the others are not, from the left; a `*` is the last
/// resort. Compiled once; a look-up allocates nothing.
///
/// A template in another spelling, such as `/users/:id`, fits no path or not those that it is meant for. An array literal
/// cannot refuse it; ``validate()`` does, which a tap calls when it is made.
///
/// Threading: immutable.
public struct PathTemplates: Sendable, ExpressibleByArrayLiteral {
  private struct Template: Sendable {
    enum Segment: Sendable {
      case literal([UInt8])
      case parameter
      /// All that follows.
      case rest

      var rank: Int {
        switch self {
        case .literal: 0
        case .parameter: 1
        case .rest: 2
        }
      }
    }

    let text: String
    let segments: [Segment]

    init(_ text: String) {
      self.text = text
      var parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
      if parts.first?.isEmpty == true { parts = parts.dropFirst() }
      if parts.count == 1, parts.first?.isEmpty == true { parts = [] }
      segments = parts.indices.map { index in
        let part = parts[index]
        if index == parts.endIndex - 1, part.elementsEqual("*".utf8) { return .rest }
        let isParameter = part.first == UInt8(ascii: "{") && part.last == UInt8(ascii: "}")
        return isParameter ? .parameter : .literal(Array(part))
      }
    }

    /// Whether it wins over another that fits the same path.
    func precedes(_ other: Template) -> Bool {
      segments.lexicographicallyPrecedes(other.segments) { $0.rank < $1.rank }
    }

    func fits(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
      var start = path.first == UInt8(ascii: "/") ? 1 : 0
      // The root's path `/` has one empty segment, which is no segment.
      if start == path.count { return segments.isEmpty }
      for segment in segments {
        guard start <= path.count else { return false }
        let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
        switch segment {
        case .literal(let literal): if !path[start..<end].elementsEqual(literal) { return false }
        case .parameter: if start == end { return false }
        case .rest: return true
        }
        start = end + 1
      }
      return start > path.count
    }
  }

  /// The first that fits is the best.
  private let templates: [Template]
  /// The error of the first template that is not in the right spelling.
  private let error: PathTemplateError?

  /// Compiles templates. Of two that fit the same paths the first counts.
  public init(_ templates: [String]) {
    error = templates.lazy.compactMap(PathTemplateError.init(of:)).first
    // An insertion keeps the order of those that are alike.
    self.templates = templates.reduce(into: []) { sorted, text in
      let template = Template(text)
      sorted.insert(template, at: sorted.firstIndex(where: template.precedes) ?? sorted.endIndex)
    }
  }

  /// Compiles templates. Of two that fit the same paths the first counts.
  public init(arrayLiteral templates: String...) {
    self.init(templates)
  }

  /// Checks the spelling of the templates.
  ///
  /// - Throws: ``PathTemplateError`` for the first that begins with no slash, has a query, or has a segment that is neither
  ///   a literal nor exactly `{name}` or a last `*`.
  public func validate() throws(PathTemplateError) {
    if let error { throw error }
  }

  /// Whether there is no template.
  public var isEmpty: Bool { templates.isEmpty }

  /// The template that fits a path best, or `nil` if none does.
  ///
  /// - Parameter path: The path as it stands in a URL, percent-encoded, without query and fragment.
  public func template(for path: some StringProtocol) -> String? {
    var path = String(path)
    return path.withUTF8 { template(for: $0) }
  }

  /// The template that fits the path of an absolute URL best (RFC 3986, section 3): what stands between the authority and the
  /// query or fragment.
  package func template(forURL url: String) -> String? {
    if isEmpty { return nil }
    var url = url
    return url.withUTF8 { url in
      let rest = url[(URLAuthority.range(in: url)?.upperBound ?? 0)...]
      return template(
        for: UnsafeBufferPointer(rebasing: rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
      )
    }
  }

  /// The template that fits a path best.
  package func template(for path: UnsafeBufferPointer<UInt8>) -> String? {
    templates.first { $0.fits(path) }?.text
  }
}

/// A template of paths that fits no path as it is spelled, or not those that it is meant for.
///
/// Such an error is a mistake in the program: ``PathTemplates/validate()`` throws it, and a tap that is made with such a
/// template. Its description names the template and the right spelling.
public struct PathTemplateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The template as it was given; at most 256 bytes of it.
  public let template: String
  /// The same in the right spelling, such as `/users/{id}` for `/users/:id`; at most 256 bytes of it.
  public let spelling: String

  /// The cause and the remedy in one line.
  public var description: String {
    "path template '\(template)' does not fit the paths that it is meant for: write '\(spelling)' (a parameter is a whole "
      + "segment in braces, '*' is the last one, the first character is '/')"
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

  /// Others write a parameter as `:id`, `<id>` or `<int:id>`, or as a part of a segment.
  private static func segment(_ text: Substring, isLast: Bool) -> String {
    if text.contains("*") { return isLast ? "*" : "{name}" }
    let isMark = { (character: Character) in "{}<>".contains(character) }
    guard text.first == ":" || text.contains(where: isMark) else { return String(text) }
    let start = text.firstIndex { $0 == "{" || $0 == "<" } ?? text.startIndex
    let inner = text[start...].drop(while: isMark).prefix { !isMark($0) }
    // Within braces a colon is part of the name.
    let name = text[start] == "{" ? inner : inner.split(separator: ":").last ?? ""
    return "{\(name.isEmpty ? "name" : name)}"
  }
}
