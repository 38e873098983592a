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
  /// The request headers that are shown, as `http.request.header.<name>`; case does not matter. None by
  /// default. Of a client or server without an adapter, a request has those that `begin` and `withRequest`
  /// are given.
  public var allowedRequestHeaders: Set<String> = []
  /// The response headers that are shown, as `http.response.header.<name>`; case does not matter. None by
  /// default.
  public var allowedResponseHeaders: Set<String> = []
  /// The app's own rule, which runs after all others. It gets the key and the text, and returns what to show;
  /// `nil` omits the key.
  ///
  /// It is asked for each text of a request's line that may hold a secret or an address: `url.full`,
  /// `url.path`, `url.template`, `http.route`, `server.address`, `client.address`, `network.peer.address`,
  /// `http.request.method_original`, `error.message`, headers, and the request's own text fields. It runs on
  /// the thread that delivers the request, which may serve a scrape: it must return within microseconds.
  public var custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  /// The defaults.
  public init() {}

  /// Shows the texts of a request as its line does, but for headers, fields and the error's message. A text
  /// that the app's rule omits becomes `nil` or empty.
  package func makeRedactor() -> @Sendable (inout RequestObservation) -> Void {
    let urls = URLRedactor(allowedQueryKeys: allowedQueryKeys, allowedPaths: allowedPaths)
    return { [custom] observation in
      func shown(_ key: String, _ text: String?) -> String? {
        guard let custom, let text else { return text }
        return custom(key, text)
      }
      let isInbound = observation.request.direction == .inbound
      let url = urls.redact(observation.request.url, as: isInbound ? .path : .url)
      observation.request.url = shown(isInbound ? "url.path" : "url.full", url) ?? ""
      let template = observation.request.urlTemplate
      observation.request.urlTemplate = shown(isInbound ? "http.route" : "url.template", template)
      observation.request.serverAddress = shown("server.address", observation.request.serverAddress)
      observation.request.clientAddress = shown("client.address", observation.request.clientAddress)
      observation.peerAddress = shown("network.peer.address", observation.peerAddress)
      let label = observation.request.methodLabel
      if label != observation.request.method {
        observation.request.method =
          shown("http.request.method_original", observation.request.method) ?? label
      }
    }
  }

  package var headers: HeaderNames {
    HeaderNames(request: allowedRequestHeaders, response: allowedResponseHeaders)
  }
}
