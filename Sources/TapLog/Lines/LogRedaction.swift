public import TapCore

/// What a log shows of a request: by default no userinfo, query values, headers or fragments.
public struct LogRedaction: Sendable {
  /// The keys of query items and path parameters whose values are shown. Keys are compared byte by byte.
  public var allowedQueryKeys: Set<String> = []
  /// The templates of the paths that are shown, or `nil` to show every path.
  ///
  /// In a path that matches a template such as `/users/{id}/orders/*`, the segments in braces become
  /// `REDACTED`. Literal segments are shown, and so is the part that `*` matches. Any other path becomes
  /// `/REDACTED`.
  public var allowedPaths: PathTemplates?
  /// The request headers that are shown, as `http.request.header.<name>`; case does not matter.
  public var allowedRequestHeaders: Set<String> = []
  /// The response headers that are shown, as `http.response.header.<name>`; case does not matter.
  public var allowedResponseHeaders: Set<String> = []
  /// The app's own rule, which runs after all others. It gets the key and the text, and returns what to show;
  /// `nil` omits the key.
  ///
  /// It is asked for each text of a request's line that may hold a secret or an address: URLs, templates,
  /// addresses, an unknown method, the error's message, headers, and the request's own text fields. It runs
  /// on the thread that delivers the request, which may serve a scrape: it must return within microseconds.
  public var custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  /// The defaults.
  public init() {}

  /// Shows the texts of a request as its line does, but for headers, fields and the error's message. A text
  /// that the app's rule omits becomes `nil` or empty.
  package func makeRedactor() -> @Sendable (inout RequestObservation) -> Void {
    let redactor = RequestRedactor(self)
    return { observation in
      redactor.redact(&observation.request)
      observation.peerAddress = redactor.shown("network.peer.address", observation.peerAddress)
    }
  }

  /// The same snapshot, with the texts of its request as a line shows them.
  package func shown(_ snapshot: RequestSnapshot) -> RequestSnapshot {
    var snapshot = snapshot
    RequestRedactor(self).redact(&snapshot.request)
    return snapshot
  }

  /// Writes URLs as a line shows them, but without a query; `nil` if the app's own rule would have to be
  /// asked.
  package var writeURL: BlackBox.WriteURL? {
    if custom != nil { return nil }
    let redactor = RequestRedactor(self)
    return { url, _, target in redactor.urls.redactWithoutQuery(url, to: target) }
  }

  package var headers: HeaderNames {
    HeaderNames(request: allowedRequestHeaders, response: allowedResponseHeaders)
  }
}

/// What a redaction shows of a request: the one rule for its line and its span.
struct RequestRedactor: Sendable {
  let urls: URLRedactor
  /// The app's rule for what may hold secrets.
  let custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  init(_ redaction: LogRedaction) {
    urls = URLRedactor(allowedQueryKeys: redaction.allowedQueryKeys, allowedPaths: redaction.allowedPaths)
    custom = redaction.custom
  }

  /// A text as the app's rule leaves it.
  @inline(__always)
  func shown(_ key: StaticString, _ text: String?) -> String? {
    guard let custom, let text else { return text }
    return custom(key.description, text)
  }

  /// The URL of a client's request, or the path of a server's.
  func url(of request: borrowing RequestDescription) -> String? {
    let (key, form) = Self.url(of: request.direction)
    return shown(key, urls.redact(request.url, as: form))
  }

  static func url(of direction: RequestDirection) -> (key: StaticString, form: URLRedactor.Form) {
    direction == .inbound ? ("url.path", .path) : ("url.full", .url)
  }

  func template(of request: borrowing RequestDescription) -> String? {
    shown(request.direction == .inbound ? "http.route" : "url.template", request.urlTemplate)
  }

  /// Fields of the app's.
  @inline(__always)
  func shown(_ fields: [String: FieldValue]) -> [String: FieldValue] {
    guard let custom, !fields.isEmpty else { return fields }
    var result = fields
    for (key, value) in fields {
      if case .string(let text) = value { result[key] = custom(key, text).map { .string($0) } }
    }
    return result
  }

  func redact(_ request: inout RequestDescription) {
    request.url = url(of: request) ?? ""
    request.urlTemplate = template(of: request)
    request.serverAddress = shown("server.address", request.serverAddress)
    request.clientAddress = shown("client.address", request.clientAddress)
    let label = request.methodLabel
    if label != request.method {
      request.method = shown("http.request.method_original", request.method) ?? label
    }
  }
}
