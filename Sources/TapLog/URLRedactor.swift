import TapCore

/// Removes the parts of a URL that may be secrets: a pure function of its text, which need not be a valid URL.
///
/// - Userinfo is removed (RFC 3986, section 3.2.1).
/// - Every value of the query becomes `REDACTED`, unless its key is allowed. An item without `=` has no key: it
///   is all value. Values of path parameters (`;jsessionid=…`, section 3.3) are treated alike.
/// - The fragment is removed (section 3.5).
/// - Where the host cannot be distinguished from userinfo (``URLAuthority``), or there is no authority at all, the rest of the URL
///   becomes `REDACTED`.
struct URLRedactor: Sendable {
  /// Keys whose values are kept, compared byte by byte: an encoded key is not taken for its plain form.
  private let allowedKeys: [[UInt8]]
  /// The shapes of paths that are shown; `nil` shows all.
  private let templates: PathTemplates?

  typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>
  /// Takes one piece of the result.
  typealias Emit = (Bytes) -> Void

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
  func redact(_ url: String, as form: Form = .url, limit: Int, to json: inout ByteWriter) {
    url.withBytes { bytes in
      var left = limit
      pieces(of: bytes[...], form) { piece in
        if left >= 0 { json.content(UnsafeBufferPointer(rebasing: piece), limit: left) }
        left -= piece.count
      }
    }
  }

  /// The redacted text.
  func redact(_ url: String, as form: Form = .url) -> String {
    var result: [UInt8] = []
    url.withBytes { bytes in pieces(of: bytes[...], form) { result += $0 } }
    return String(decoding: result, as: UTF8.self)
  }

  /// Gives the redacted text piece by piece.
  @inline(__always)
  private func pieces(of url: Bytes, _ form: Form, emit: Emit) {
    let target = url.prefix { $0 != .question && $0 != .hash }
    // Most requests name a path; some a whole URL (RFC 9112, section 3.2.2), and any text may follow.
    if form == .path, url.first == .slash { return path(target, emit: emit) }
    let isWhole = hierarchy(target, emit: emit)
    guard form == .url, isWhole else { return }
    query(url[target.endIndex...].prefix { $0 != .hash }, emit: emit)
  }

  /// All before the query: scheme, authority and path. `false` if the rest is not to be shown.
  @inline(__always)
  private func hierarchy(_ text: Bytes, emit: Emit) -> Bool {
    let scheme = text.prefix {
      $0.isASCIILetter || $0.isASCIIDigit || $0 == .plus || $0 == .minus || $0 == .dot
    }
    guard let first = scheme.first, first.isASCIILetter, text[scheme.endIndex...].first == .colon else {
      // Without a scheme (section 3.1) the place of an authority is unknown: everything before an @ is removed.
      path(text.afterLastAt, emit: emit)
      return true
    }
    let schemeEnd = scheme.endIndex + 1
    let slashes = text[schemeEnd...].prefix(2)
    guard slashes.count == 2, slashes.allSatisfy({ $0 == .slash }) else {
      emit(text[..<schemeEnd])
      emit(Self.redacted)
      return false
    }
    emit(text[..<slashes.endIndex])
    guard let authority = URLAuthority.find(in: text.base)?.hostAndPort,
      !authority.isEmpty || !text[authority.upperBound...].contains(.at)
    else {
      emit(Self.redacted)
      return false
    }
    emit(text[authority])
    path(text[authority.upperBound...], emit: emit)
    return true
  }

  /// The path, less what no template allows.
  @inline(__always)
  private func path(_ path: Bytes, emit: Emit) {
    guard let templates, !path.isEmpty else { return parameters(path, emit: emit) }
    guard let template = templates.template(for: UnsafeBufferPointer(rebasing: path)) else {
      emit(Self.slash)
      return emit(Self.redacted)
    }
    if path.first == .slash { emit(Self.slash) }
    // The path fits: it has the segments of the template, and more only behind a last `*`.
    let shown = Self.segments(of: template.utf8)
    for (place, segment) in Self.segments(of: path).enumerated() {
      if place > 0 { emit(Self.slash) }
      if place < shown.count, shown[place].first == .openBrace, shown[place].last == .closeBrace {
        emit(Self.redacted)
      } else {
        parameters(segment, emit: emit)
      }
    }
  }

  /// The segments behind a first slash.
  private static func segments<Path: Collection<UInt8>>(of path: Path) -> [Path.SubSequence] {
    let start = path.first == .slash ? 1 : 0
    return path.dropFirst(start).split(separator: .slash, omittingEmptySubsequences: false)
  }

  /// A path or a segment, less the values of its parameters.
  @inline(__always)
  private func parameters(_ text: Bytes, emit: Emit) {
    var rest = text
    while let semicolon = rest.firstIndex(of: .semicolon) {
      emit(rest[...semicolon])
      let parameter = rest[(semicolon + 1)...].prefix { $0 != .semicolon && $0 != .slash }
      if parameter.contains(.equals) { item(parameter, emit: emit) } else { emit(parameter) }
      rest = rest[parameter.endIndex...]
    }
    emit(rest)
  }

  /// The query, its question mark included. Items are separated by `&`, or by `;` as HTML 4 advised.
  @inline(__always)
  private func query(_ text: Bytes, emit: Emit) {
    var rest = text
    while !rest.isEmpty {
      // The separator, then the item.
      emit(rest.prefix(1))
      let item = rest.dropFirst().prefix { $0 != .ampersand && $0 != .semicolon }
      self.item(item, emit: emit)
      rest = rest[item.endIndex...]
    }
  }

  /// `key=value`, `value`, or nothing.
  @inline(__always)
  private func item(_ item: Bytes, emit: Emit) {
    if item.isEmpty { return }
    let key = item.prefix { $0 != .equals }
    if allowedKeys.contains(where: { $0.elementsEqual(key) }) { return emit(item) }
    if key.count < item.count { emit(item[...key.endIndex]) }
    emit(Self.redacted)
  }

  private static var slash: Bytes { bytes("/") }
  private static var redacted: Bytes { bytes("REDACTED") }

  private static func bytes(_ text: StaticString) -> Bytes {
    UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)[...]
  }
}

extension URLRedactor.Bytes {
  /// What is behind the last `@`, or everything.
  @inline(__always)
  fileprivate var afterLastAt: Self { lastIndex(of: .at).map { self[($0 + 1)...] } ?? self }
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
  fileprivate static let plus = UInt8(ascii: "+")
  fileprivate static let minus = UInt8(ascii: "-")
  fileprivate static let dot = UInt8(ascii: ".")
  fileprivate static let openBrace = UInt8(ascii: "{")
  fileprivate static let closeBrace = UInt8(ascii: "}")
}
