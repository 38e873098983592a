public import TapCore

/// What a log shows of a request. By default no userinfo, no query value, no header and no fragment.
public struct LogRedaction: Sendable {
  /// The keys of query items and path parameters whose values are shown. Keys are compared as they stand in the
  /// URL, byte by byte.
  public var allowedQueryKeys: Set<String> = []
  /// The templates of paths that are shown, or `nil` to show every path as it is.
  ///
  /// Of a path that fits a template such as `/users/{id}/orders/*`, what a segment in braces stands for becomes
  /// `REDACTED`; the segments that stand for themselves are shown, and so is what `*` stands for. A path that fits none
  /// becomes `/REDACTED`.
  public var allowedPaths: PathTemplates?
  /// The request headers that are shown, as `http.request.header.<name>`; case does not matter. None by default.
  public var allowedRequestHeaders: Set<String> = []
  /// The response headers that are shown, as `http.response.header.<name>`; case does not matter. None by default.
  public var allowedResponseHeaders: Set<String> = []
  /// The app's own rule, after all others: gets the key and the text of `url.full` or `url.path`, of each header, and of each field
  /// that the app has added with text for a value. Gives the text to show, or `nil` to leave the field out. Called on the
  /// thread that delivers the request, which may be one that serves a scrape: it must return within microseconds.
  public var custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  /// The defaults.
  public init() {}
}

/// Writes the parts of a request's line that may hold secrets: the URL, headers, and the app's fields.
struct LineRedactor: Sendable {
  private let urls: URLRedactor
  private let requestHeaders: [String]
  private let responseHeaders: [String]
  private let custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  init(_ redaction: LogRedaction) {
    urls = URLRedactor(allowedQueryKeys: redaction.allowedQueryKeys, allowedPaths: redaction.allowedPaths)
    // Sorted and lowercased (OpenTelemetry, `http.request.header.<key>`): one order, and no key twice.
    requestHeaders = Set(redaction.allowedRequestHeaders.map { $0.lowercased() }).sorted()
    responseHeaders = Set(redaction.allowedResponseHeaders.map { $0.lowercased() }).sorted()
    custom = redaction.custom
  }

  /// `,"url.full":"…"`
  @inline(__always)
  func writeURL(_ url: String, limits: LineLimits, to line: inout LineWriter) {
    write(url, as: .url, "url.full", limits: limits, to: &line)
  }

  /// `,"url.path":"…"`
  @inline(__always)
  func writePath(_ path: String, limits: LineLimits, to line: inout LineWriter) {
    write(path, as: .path, "url.path", limits: limits, to: &line)
  }

  @inline(__always)
  private func write(
    _ url: String, as form: URLRedactor.Form, _ key: StaticString, limits: LineLimits,
    to line: inout LineWriter
  ) {
    if url.isEmpty { return }
    guard let custom else {
      return line.part { json in
        json.key(key)
        json.append(.quote)
        urls.redact(url, as: form, limit: limits.url, to: &json)
        json.append(.quote)
      }
    }
    // The limit counts for what the app's rule gives, too: it may make a text longer.
    guard let text = custom(key.description, urls.redact(url, as: form, limit: limits.url)) else { return }
    line.part { json in
      json.key(key)
      json.string(text, limit: limits.url)
    }
  }

  /// The headers that are allowed, each an array of one text: `,"http.request.header.accept":["…"]`.
  @inline(__always)
  func writeHeaders(of request: RequestDescription, limits: LineLimits, to line: inout LineWriter) {
    if requestHeaders.isEmpty { return }
    write(request.headers, "http.request.header.", allowed: requestHeaders, limits: limits, to: &line)
  }

  @inline(__always)
  func writeResponseHeaders(of observation: RequestObservation, limits: LineLimits, to line: inout LineWriter)
  {
    if responseHeaders.isEmpty { return }
    write(
      observation.responseHeaders, "http.response.header.", allowed: responseHeaders, limits: limits,
      to: &line)
  }

  private func write(
    _ headers: [String: String], _ prefix: String, allowed: [String], limits: LineLimits,
    to line: inout LineWriter
  ) {
    for name in allowed {
      // Names differ in case only where a dictionary has a header twice; the first by name is the one.
      let matches = headers.filter { $0.key.utf8.count == name.utf8.count && $0.key.lowercased() == name }
      guard let value = matches.min(by: { $0.key < $1.key })?.value else { continue }
      let key = prefix + name
      guard let text = custom.map({ $0(key, value) }) ?? value else { continue }
      line.part { json in
        json.append(",")
        json.string(key, limit: 2 * limits.name)
        json.append(":[")
        json.string(text, limit: limits.value)
        json.append("]")
      }
    }
  }

  /// The fields of one line, as the app's rule leaves them.
  @inline(__always)
  func fields(_ fields: [String: FieldValue]) -> [String: FieldValue] {
    guard let custom, !fields.isEmpty else { return fields }
    var result = fields
    for (key, value) in fields {
      if case .string(let text) = value { result[key] = custom(key, text).map { .string($0) } }
    }
    return result
  }
}
