import TapCore

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

  /// `,"url.full":"…"` of a client's request, or `,"url.path":"…"` of a server's.
  @inline(__always)
  func writeURL(_ url: String, as form: URLRedactor.Form, limits: LineLimits, to line: inout LineWriter) {
    if url.isEmpty { return }
    let key: StaticString = form == .url ? "url.full" : "url.path"
    guard let custom else {
      return line.part { json in
        json.key(key)
        json.append("\"")
        urls.redact(url, as: form, limit: limits.url, to: &json)
        json.append("\"")
      }
    }
    // The limit counts for what the app's rule gives, too: it may make a text longer.
    guard let text = custom(key.description, urls.redact(url, as: form, limit: limits.url)) else { return }
    line.part { $0.member(key, text, limit: limits.url) }
  }

  /// The headers that are allowed, each an array of one text: `,"http.request.header.accept":["…"]`.
  @inline(__always)
  func writeHeaders(of request: RequestDescription, limits: LineLimits, to line: inout LineWriter) {
    if requestHeaders.isEmpty { return }
    write(request.headers, "http.request.header.", allowed: requestHeaders, limits: limits, to: &line)
  }

  @inline(__always)
  func writeResponseHeaders(
    of observation: RequestObservation, limits: LineLimits, to line: inout LineWriter
  ) {
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
