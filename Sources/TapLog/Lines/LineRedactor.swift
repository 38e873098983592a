import TapCore

/// Writes the parts of a request's line that may hold secrets: the URL, headers, and the app's fields.
struct LineRedactor: Sendable {
  /// The allowed headers, by name, and their keys in the line.
  typealias Headers = [(name: String, key: String)]

  let requestHeaders: Headers
  let responseHeaders: Headers
  private let urls: URLRedactor
  private let urlLimit: Int
  private let custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  init(_ redaction: LogRedaction, urlLimit: Int) {
    urls = URLRedactor(allowedQueryKeys: redaction.allowedQueryKeys, allowedPaths: redaction.allowedPaths)
    self.urlLimit = urlLimit
    requestHeaders = redaction.headers.request.map { ($0, "http.request.header.\($0)") }
    responseHeaders = redaction.headers.response.map { ($0, "http.response.header.\($0)") }
    custom = redaction.custom
  }

  /// `,"url.full":"…"` of a client's request, or `,"url.path":"…"` of a server's.
  @inline(__always)
  func writeURL(_ url: String, as form: URLRedactor.Form, to line: inout LineWriter) {
    if url.isEmpty { return }
    let key: StaticString = form == .url ? "url.full" : "url.path"
    guard let custom else {
      return line.part { json in
        json.key(key)
        json.append("\"")
        urls.redact(url, as: form, limit: urlLimit, to: &json)
        json.append("\"")
      }
    }
    guard let text = custom(key.description, urls.redact(url, as: form)) else { return }
    line.part { $0.member(key, text, limit: urlLimit) }
  }

  /// The headers that are allowed, each an array of one text: `,"http.request.header.accept":["…"]`.
  func write(_ headers: [String: String], _ allowed: Headers, to line: inout LineWriter) {
    for (name, key) in allowed {
      // Names differ in case only where a dictionary has a header twice; the first by name is the one.
      let matches = headers.filter { $0.key.utf8.count == name.utf8.count && $0.key.lowercased() == name }
      guard let value = matches.min(by: { $0.key < $1.key })?.value else { continue }
      guard let text = custom.map({ $0(key, value) }) ?? value else { continue }
      line.part { json in
        json.append(",")
        json.string(key, limit: 2 * LineLimits.name)
        json.append(":[")
        json.string(text, limit: LineLimits.value)
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
