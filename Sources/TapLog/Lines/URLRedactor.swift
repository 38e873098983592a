import TapCore

/// Removes the parts of a URL that may be secrets: a pure function of its text, which need not be a valid
/// URL.
///
/// - Userinfo is removed (RFC 3986, section 3.2.1).
/// - Every value of the query becomes `REDACTED`, unless its key is allowed. An item without `=` has no key:
///   it is all value. Values of path parameters (`;jsessionid=…`, section 3.3) are treated alike.
/// - The fragment is removed (section 3.5).
/// - Where the host cannot be distinguished from userinfo (``URLAuthority``), or there is no authority at
///   all, the rest of the URL becomes `REDACTED`.
struct URLRedactor: Sendable {
  /// Keys whose values are kept, compared byte by byte: an encoded key is not taken for its plain form.
  private let allowedKeys: [[UInt8]]
  /// The shapes of paths that are shown; `nil` shows all.
  private let templates: PathTemplates?

  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>
  private typealias Emit = (Bytes) -> Void

  init(allowedQueryKeys: some Sequence<String> = [], allowedPaths: PathTemplates? = nil) {
    allowedKeys = allowedQueryKeys.map { Array($0.utf8) }
    templates = allowedPaths
  }

  enum Form {
    /// The URL of a client's request.
    case url
    /// The target of a server's request (RFC 9112, section 3.2): shown without its query.
    case path
  }

  /// Writes the redacted text as the content of a JSON string, cut at `limit` bytes and ended with `…` there.
  func redact(_ url: String, as form: Form = .url, limit: Int, to line: inout LineWriter) {
    var url = url
    url.withUTF8 { bytes in
      var (left, room) = (limit, LineLimits.escapedText)
      pieces(of: bytes[...], form) { piece in
        guard left >= 0 else { return }
        let before = line.count
        let isWhole = line.content(UnsafeBufferPointer(rebasing: piece), limit: left, room: max(0, room))
        left = isWhole ? left - piece.count : -1
        room -= line.count - before
      }
    }
  }

  /// Whether nothing of a URL is to be hidden, as of most: behind its authority are no parameters, query or
  /// fragment. Others need the exact reading.
  private static func isPlain(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let authority = URLAuthority.find(in: url), authority.isPlain else { return false }
    return UnsafeBufferPointer(rebasing: url[authority.hostAndPort.upperBound...])
      .allSatisfy { $0 != .question && $0 != .hash && $0 != .semicolon && $0 != .at }
  }

  func redact(_ url: String, as form: Form = .url) -> String {
    var result: [UInt8] = []
    var url = url
    url.withUTF8 { bytes in pieces(of: bytes[...], form) { result += $0 } }
    return String(decoding: result, as: UTF8.self)
  }

  /// Writes the redacted text without its query, as far as it fits. Returns how many bytes it has.
  func redactWithoutQuery(_ url: String, to target: UnsafeMutableRawBufferPointer) -> Int {
    var (url, count) = (url, 0)
    url.withUTF8 { bytes in
      pieces(of: bytes[...], .path) { piece in
        let room = target[min(count, target.count)...]
        UnsafeMutableRawBufferPointer(rebasing: room).copyBytes(from: piece.prefix(room.count))
        count += piece.count
      }
    }
    return count
  }

  private func pieces(of url: Bytes, _ form: Form, emit: Emit) {
    // Most served requests name a path; some a whole URL (RFC 9112, section 3.2.2), and any text may follow.
    if form == .path, url.first == .slash {
      return path(url.prefix { $0 != .question && $0 != .hash }, emit: emit)
    }
    if templates == nil, Self.isPlain(url.base) { return emit(url) }
    let target = url.prefix { $0 != .question && $0 != .hash }
    let isWhole = hierarchy(target, emit: emit)
    guard form == .url, isWhole else { return }
    query(url[target.endIndex...].prefix { $0 != .hash }, emit: emit)
  }

  /// All before the query: scheme, authority and path. `false` if the rest is not to be shown.
  private func hierarchy(_ text: Bytes, emit: Emit) -> Bool {
    let colon = text.firstIndex {
      !($0.isASCIIDigit || $0.isASCIILetter) && $0 != .minus && $0 != .dot && $0 != UInt8(ascii: "+")
    }
    guard let colon, text[colon] == .colon, let first = text.first, first.isASCIILetter else {
      // Without a scheme (section 3.1) where an authority is, is unknown: everything before an @ is removed.
      path(text[(text.lastIndex(of: .at).map { $0 + 1 } ?? text.startIndex)...], emit: emit)
      return true
    }
    let slashes = text[(colon + 1)...].prefix(2)
    guard slashes.count == 2, slashes.allSatisfy({ $0 == .slash }) else {
      emit(text[...colon])
      emit(Self.redacted)
      return false
    }
    let start = text[..<slashes.endIndex]
    guard let authority = URLAuthority.find(in: text.base)?.hostAndPort,
      !authority.isEmpty || !text[authority.upperBound...].contains(.at)
    else {
      emit(start)
      emit(Self.redacted)
      return false
    }
    emit(start)
    emit(text[authority])
    path(text[authority.upperBound...], emit: emit)
    return true
  }

  /// The path, less what no template allows.
  private func path(_ path: Bytes, emit: Emit) {
    guard let templates, !path.isEmpty else { return parameters(path, emit: emit) }
    guard let template = templates.template(for: UnsafeBufferPointer(rebasing: path)) else {
      return emit(Self.bytes("/REDACTED"))
    }
    if path.first == .slash { emit(path.prefix(1)) }
    // The path fits: it has the segments of the template, and more only behind a last `*`.
    let pattern = Self.segments(of: template.utf8)
    for (index, segment) in Self.segments(of: path).enumerated() {
      if index > 0 { emit(Self.bytes("/")) }
      if index < pattern.count, pattern[index].first == UInt8(ascii: "{"),
        pattern[index].last == UInt8(ascii: "}")
      {
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
  private func parameters(_ text: Bytes, emit: Emit) {
    var remaining = text
    while let semicolon = remaining.firstIndex(of: .semicolon) {
      emit(remaining[...semicolon])
      let parameter = remaining[(semicolon + 1)...].prefix { $0 != .semicolon && $0 != .slash }
      if parameter.contains(.equals) { item(parameter, emit: emit) } else { emit(parameter) }
      remaining = remaining[parameter.endIndex...]
    }
    emit(remaining)
  }

  /// The query, its question mark included. Items are separated by `&`, or by `;` as HTML 4 advised.
  private func query(_ text: Bytes, emit: Emit) {
    var remaining = text
    while !remaining.isEmpty {
      // The separator, then the item.
      emit(remaining.prefix(1))
      let item = remaining.dropFirst().prefix { $0 != UInt8(ascii: "&") && $0 != .semicolon }
      self.item(item, emit: emit)
      remaining = remaining[item.endIndex...]
    }
  }

  /// `key=value`, `value`, or nothing.
  private func item(_ item: Bytes, emit: Emit) {
    if item.isEmpty { return }
    let key = item.prefix { $0 != .equals }
    if allowedKeys.contains(where: { $0.elementsEqual(key) }) { return emit(item) }
    if key.count < item.count { emit(item[...key.endIndex]) }
    emit(Self.redacted)
  }

  private static var redacted: Bytes { bytes("REDACTED") }

  private static func bytes(_ text: StaticString) -> Bytes {
    UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)[...]
  }
}

extension UInt8 {
  fileprivate static let semicolon = UInt8(ascii: ";")
  fileprivate static let equals = UInt8(ascii: "=")
  fileprivate static let minus = UInt8(ascii: "-")
}
