/// Finds the template of a path, such as `/users/{id}` for `/users/42`.
///
/// A template is a list of segments. `{name}` matches one segment that is not empty, and a final `*` matches
/// one or more segments. Other segments match themselves, byte for byte. If several templates match, the one
/// that is literal first, from the left, is used; `*` comes last. Templates are compiled once. A look-up
/// allocates nothing and its work is bounded. An array literal cannot refuse another spelling, such as
/// `/users/:id`, so a tap calls ``validate()`` when it is made.
public struct PathTemplates: Sendable, ExpressibleByArrayLiteral {
  /// The steps after which a look-up gives up, which only a set of templates made for it can reach.
  private static let workLimit = 512

  private struct Node: Sendable {
    /// In the order of their bytes.
    var literals: [(segment: [UInt8], node: Int)] = []
    var parameter: Int?
    var template: String?
    /// The template with a `*` behind this segment.
    var rest: String?

    /// The index of a literal, or where it belongs, and the node behind it.
    func literal(_ segment: some Sequence<UInt8>) -> (index: Int, node: Int?) {
      var (low, high) = (0, literals.count)
      while low < high {
        let middle = (low + high) / 2
        let candidate = literals[middle].segment
        if candidate.elementsEqual(segment) { return (middle, literals[middle].node) }
        if candidate.lexicographicallyPrecedes(segment) { low = middle + 1 } else { high = middle }
      }
      return (low, nil)
    }
  }

  private var nodes = [Node()]
  /// The error of the first template that is not in the right spelling.
  private let error: PathTemplateError?

  /// Compiles templates. If two match the same paths, the first is used.
  public init(_ templates: [String]) {
    error = templates.lazy.compactMap(PathTemplateError.init(of:)).first
    for template in templates { add(template) }
  }

  /// Compiles templates. If two match the same paths, the first is used.
  public init(arrayLiteral templates: String...) { self.init(templates) }

  /// Throws for the first template that does not begin with a slash, has a query or a blank, names two
  /// parameters alike, or has a segment other than a literal, `{name}` or a final `*`.
  public func validate() throws(PathTemplateError) {
    if let error { throw error }
  }

  package var isEmpty: Bool { nodes.count == 1 && nodes[0].template == nil && nodes[0].rest == nil }

  /// The template that fits the path of a URL best, be it absolute or a path with its query; `nil` if none
  /// does.
  package func template(forURL url: String) -> String? {
    var url = url
    return url.withUTF8 { template(for: URLAuthority.path(in: $0)) }
  }

  /// - Parameter path: The path as in a URL: percent-encoded, without query and fragment.
  package func template(for path: UnsafeBufferPointer<UInt8>) -> String? {
    let start = path.first == .slash ? 1 : 0
    var work = Self.workLimit
    return find(path, from: start, at: 0, work: &work)
  }

  private func find(
    _ path: UnsafeBufferPointer<UInt8>, from start: Int, at index: Int, work: inout Int
  ) -> String? {
    work -= 1
    guard work > 0 else { return nil }
    let node = nodes[index]
    if start > path.count { return node.template }
    // The root's path `/` has one empty segment, which is no segment.
    if index == 0, start == path.count { return node.template }
    var end = start
    while end < path.count, path[end] != .slash { end += 1 }
    let segment = path[start..<end]
    if let child = node.literal(segment).node,
      let found = find(path, from: end + 1, at: child, work: &work)
    {
      return found
    }
    if let parameter = node.parameter, !segment.isEmpty,
      let found = find(path, from: end + 1, at: parameter, work: &work)
    {
      return found
    }
    return node.rest
  }

  private mutating func add(_ template: String) {
    var segments = template.utf8.split(separator: .slash, omittingEmptySubsequences: false)[...]
    if segments.first?.isEmpty == true { segments = segments.dropFirst() }
    if segments.count == 1, segments.first?.isEmpty == true { segments = [] }
    let hasRest = segments.last.map { $0.elementsEqual("*".utf8) } ?? false
    var index = 0
    for segment in hasRest ? segments.dropLast() : segments {
      index = child(Array(segment), of: index)
    }
    if hasRest {
      nodes[index].rest = nodes[index].rest ?? template
    } else {
      nodes[index].template = nodes[index].template ?? template
    }
  }

  private mutating func child(_ segment: [UInt8], of index: Int) -> Int {
    let isParameter = segment.first == UInt8(ascii: "{") && segment.last == UInt8(ascii: "}")
    let (position, literal) = isParameter ? (0, nodes[index].parameter) : nodes[index].literal(segment)
    if let literal { return literal }
    nodes.append(Node())
    if isParameter {
      nodes[index].parameter = nodes.count - 1
    } else {
      nodes[index].literals.insert((segment, nodes.count - 1), at: position)
    }
    return nodes.count - 1
  }
}

/// A path template is misspelt, so that it does not match the intended paths. A mistake in the program.
public struct PathTemplateError: Error, Sendable, Equatable, CustomStringConvertible {
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
    let segments = template.utf8.split(separator: .slash, omittingEmptySubsequences: false)
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
    return segment.first != .colon && !name.contains { "{}<>*".utf8.contains($0) }
  }
}
