import TapCore

/// Removes the parts of a URL that may be secrets: a pure function of its text, which need not be a valid URL.
///
/// - Userinfo is removed (RFC 3986, section 3.2.1).
/// - Every value of the query becomes `REDACTED`, unless its key is allowed. An item without `=` has no key: it
///   is all value. Values of path parameters (`;jsessionid=…`, section 3.3) are treated alike.
/// - The fragment is removed (section 3.5).
/// - Where the authority cannot be distinguished from userinfo, because the port is no number or there is no authority at all, the
///   rest of the URL becomes `REDACTED`.
struct URLRedactor: Sendable {
  /// Keys whose values are kept, compared byte by byte: an encoded key is not taken for its plain form.
  private let allowedKeys: [[UInt8]]
  /// The shapes of paths that are shown; `nil` shows all.
  private let templates: PathTemplates?

  private static let mark: StaticString = "REDACTED"

  typealias Bytes = UnsafeBufferPointer<UInt8>
  /// Takes one piece of the result, and says whether it wants more.
  typealias Emit = (Bytes) -> Bool

  init(allowedQueryKeys: some Sequence<String> = [], allowedPaths: PathTemplates? = nil) {
    allowedKeys = allowedQueryKeys.map { Array($0.utf8) }
    templates = allowedPaths
  }

  /// The kind of a text.
  enum Form {
    /// The URL of a client's request.
    case url
    /// The target of a server's request (RFC 9112, section 3.2): shown without its query.
    case path
  }

  /// Writes the redacted text as the content of a JSON string, cut at `limit` bytes and ended with `…` there.
  @inline(__always)
  func redact(_ url: String, as form: Form = .url, limit: Int, to json: inout JSONWriter) {
    url.withBytes { bytes in
      var left = limit
      _ = pieces(of: bytes, form) { piece in
        json.content(piece, limit: left)
        left -= piece.count
        return left >= 0
      }
    }
  }

  /// The redacted text, cut at `limit` bytes.
  func redact(_ url: String, as form: Form = .url, limit: Int) -> String {
    var result: [UInt8] = []
    url.withBytes { bytes in
      _ = pieces(of: bytes, form) { piece in
        result += piece
        return result.count <= limit
      }
    }
    guard result.count > limit else { return String(decoding: result, as: UTF8.self) }
    let end = result.withUnsafeBufferPointer { $0.characterBoundary(before: limit) }
    return String(decoding: result[..<end], as: UTF8.self) + "…"
  }

  /// Gives the redacted text piece by piece, until `emit` wants no more.
  @inline(__always)
  func pieces(of url: Bytes, _ form: Form = .url, emit: Emit) -> Bool {
    let pathEnd = url.firstIndex(from: 0) { $0 == .question || $0 == .hash } ?? url.count
    if form == .path {
      // Most requests name a path; some a whole URL (RFC 9112, section 3.2.2), and any text may follow.
      return url.first == .slash
        ? path(url, from: 0, to: pathEnd, emit: emit) : hierarchy(url, end: pathEnd, emit: emit)
    }
    guard hierarchy(url, end: pathEnd, emit: emit) else { return false }
    guard pathEnd < url.count, url[pathEnd] == .question else { return true }
    let queryEnd = url.firstIndex(from: pathEnd) { $0 == .hash } ?? url.count
    return query(url, from: pathEnd, to: queryEnd, emit: emit)
  }

  /// All before the query: scheme, authority and path.
  @inline(__always)
  private func hierarchy(_ url: Bytes, end: Int, emit: Emit) -> Bool {
    guard let schemeEnd = Self.endOfScheme(url, end: end) else {
      // Without a scheme the place of an authority is unknown: everything before an @ is removed.
      return path(
        url, from: url.lastIndex(of: .at, from: 0, to: end).map { $0 + 1 } ?? 0, to: end, emit: emit)
    }
    let start = schemeEnd + 2
    guard start <= end, url[schemeEnd] == .slash, url[schemeEnd + 1] == .slash else {
      _ = emit(url.slice(0, schemeEnd)) && emit(Self.redacted)
      return false
    }
    let authorityEnd = url.firstIndex(from: start) { $0 == .slash || $0 == .question || $0 == .hash } ?? end
    let hostStart = url.lastIndex(of: .at, from: start, to: authorityEnd).map { $0 + 1 } ?? start
    let isReadable =
      hostStart == authorityEnd
      ? url.lastIndex(of: .at, from: authorityEnd, to: end) == nil
      : Self.isHostWithPort(url, from: hostStart, to: authorityEnd)
    guard isReadable else {
      _ = emit(url.slice(0, start)) && emit(Self.redacted)
      return false
    }
    if hostStart == start {
      return emit(url.slice(0, authorityEnd)) && path(url, from: authorityEnd, to: end, emit: emit)
    }
    return emit(url.slice(0, start)) && emit(url.slice(hostStart, authorityEnd))
      && path(url, from: authorityEnd, to: end, emit: emit)
  }

  /// The path, less what no template allows.
  @inline(__always)
  private func path(_ url: Bytes, from start: Int, to end: Int, emit: Emit) -> Bool {
    guard let templates, start < end else { return parameters(url, from: start, to: end, emit: emit) }
    guard let template = templates.template(for: url.slice(start, end)) else {
      return emit(Self.slash) && emit(Self.redacted)
    }
    var index = start
    if url[start] == .slash {
      guard emit(Self.slash) else { return false }
      index += 1
    }
    // The path fits: it has the segments of the template, and more only behind a last `*`.
    var rest = template.utf8[...]
    if rest.first == .slash { rest = rest.dropFirst() }
    while !rest.isEmpty {
      let segment = rest.prefix { $0 != .slash }
      rest = rest.dropFirst(segment.count + 1)
      if rest.isEmpty, segment.elementsEqual("*".utf8) { break }
      let segmentEnd = url.firstIndex(from: index, to: end, where: { $0 == .slash }) ?? end
      let isHidden = segment.first == .openBrace && segment.last == .closeBrace
      let isWanted =
        isHidden ? emit(Self.redacted) : parameters(url, from: index, to: segmentEnd, emit: emit)
      guard isWanted, segmentEnd == end || emit(Self.slash) else { return false }
      index = min(segmentEnd + 1, end)
    }
    return parameters(url, from: index, to: end, emit: emit)
  }

  /// A path or a segment, less the values of its parameters.
  @inline(__always)
  private func parameters(_ url: Bytes, from start: Int, to end: Int, emit: Emit) -> Bool {
    var index = start
    while let semicolon = url.firstIndex(from: index, to: end, where: { $0 == .semicolon }) {
      let itemEnd =
        url.firstIndex(from: semicolon + 1, to: end, where: { $0 == .semicolon || $0 == .slash }) ?? end
      guard emit(url.slice(index, semicolon + 1)) else { return false }
      if url.firstIndex(from: semicolon + 1, to: itemEnd, where: { $0 == .equals }) == nil {
        guard emit(url.slice(semicolon + 1, itemEnd)) else { return false }
      } else {
        guard item(url, from: semicolon + 1, to: itemEnd, emit: emit) else { return false }
      }
      index = itemEnd
    }
    return index == end || emit(url.slice(index, end))
  }

  /// The query, its question mark included. Items are separated by `&`, or by `;` as HTML 4 advised.
  @inline(__always)
  private func query(_ url: Bytes, from start: Int, to end: Int, emit: Emit) -> Bool {
    var index = start
    while index < end {
      // The separator, then the item.
      guard emit(url.slice(index, index + 1)) else { return false }
      let itemEnd =
        url.firstIndex(from: index + 1, to: end, where: { $0 == .ampersand || $0 == .semicolon }) ?? end
      guard item(url, from: index + 1, to: itemEnd, emit: emit) else { return false }
      index = itemEnd
    }
    return true
  }

  /// `key=value`, `value`, or nothing.
  @inline(__always)
  private func item(_ url: Bytes, from start: Int, to end: Int, emit: Emit) -> Bool {
    guard start < end else { return true }
    let equals = url.firstIndex(from: start, to: end, where: { $0 == .equals })
    let key = url.slice(start, equals ?? end)
    if allowedKeys.contains(where: { $0.count == key.count && $0.elementsEqual(key) }) {
      return emit(url.slice(start, end))
    }
    guard let equals else { return emit(Self.redacted) }
    return emit(url.slice(start, equals + 1)) && emit(Self.redacted)
  }

  /// The place after the colon of a valid scheme (section 3.1).
  @inline(__always)
  private static func endOfScheme(_ url: Bytes, end: Int) -> Int? {
    var index = 0
    while index < end {
      switch url[index] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): break
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
        if index == 0 { return nil }
      case .colon: return index > 0 ? index + 1 : nil
      default: return nil
      }
      index &+= 1
    }
    return nil
  }

  /// Whether this is a host with an optional port, and not something like `user:password` (section 3.2).
  @inline(__always)
  private static func isHostWithPort(_ url: Bytes, from start: Int, to end: Int) -> Bool {
    var hostEnd = start
    if url[start] == .openBracket {
      guard let bracket = url.firstIndex(from: start, to: end, where: { $0 == .closeBracket }) else {
        return false
      }
      hostEnd = bracket + 1
      if hostEnd < end, url[hostEnd] != .colon { return false }
    } else {
      hostEnd = url.firstIndex(from: start, to: end, where: { $0 == .colon }) ?? end
    }
    return url.firstIndex(
      from: min(hostEnd + 1, end), to: end,
      where: { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) == nil
  }

  private static var slash: Bytes { Bytes(start: slashText.utf8Start, count: 1) }
  private static let slashText: StaticString = "/"
  private static var redacted: Bytes { Bytes(start: mark.utf8Start, count: mark.utf8CodeUnitCount) }
}

extension UnsafeBufferPointer<UInt8> {
  @inline(__always)
  fileprivate func slice(_ start: Int, _ end: Int) -> Self { Self(rebasing: self[start..<end]) }

  @inline(__always)
  fileprivate func firstIndex(from start: Int, to end: Int? = nil, where found: (UInt8) -> Bool) -> Int? {
    let end = end ?? count
    var index = start
    while index < end {
      if found(self[index]) { return index }
      index &+= 1
    }
    return nil
  }

  @inline(__always)
  fileprivate func lastIndex(of byte: UInt8, from start: Int, to end: Int) -> Int? {
    var index = end
    while index > start {
      index &-= 1
      if self[index] == byte { return index }
    }
    return nil
  }
}

extension UInt8 {
  fileprivate static let slash = UInt8(ascii: "/")
  fileprivate static let colon = UInt8(ascii: ":")
  fileprivate static let at = UInt8(ascii: "@")
  fileprivate static let question = UInt8(ascii: "?")
  fileprivate static let hash = UInt8(ascii: "#")
  fileprivate static let ampersand = UInt8(ascii: "&")
  fileprivate static let semicolon = UInt8(ascii: ";")
  fileprivate static let equals = UInt8(ascii: "=")
  fileprivate static let openBracket = UInt8(ascii: "[")
  fileprivate static let closeBracket = UInt8(ascii: "]")
  fileprivate static let openBrace = UInt8(ascii: "{")
  fileprivate static let closeBrace = UInt8(ascii: "}")
}
