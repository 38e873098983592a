/// The shapes of paths that a log shows (``LogRedaction/allowedPaths``).
struct PathTemplates: Sendable {
  private let templates: [[Segment]]

  private enum Segment: Sendable {
    case plain([UInt8])
    case hidden
    case shown
  }

  init(_ templates: [String]) {
    self.templates = templates.map { template in
      template.split(separator: "/", omittingEmptySubsequences: false).map { segment in
        if segment == "*" { return .shown }
        return segment.hasPrefix("{") && segment.hasSuffix("}") ? .hidden : .plain(Array(segment.utf8))
      }
    }
  }

  /// Whether each segment of a path is shown, or `nil` if no template matches.
  func match(_ path: UnsafeBufferPointer<UInt8>) -> [Bool]? {
    let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for template in templates where template.count == segments.count {
      let matches = zip(template, segments).allSatisfy { part, segment in
        if case .plain(let bytes) = part { return segment.elementsEqual(bytes) }
        return !segment.isEmpty
      }
      guard matches else { continue }
      return template.map { if case .hidden = $0 { false } else { true } }
    }
    return nil
  }
}
