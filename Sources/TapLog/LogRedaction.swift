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
  /// The request headers that are shown, as `http.request.header.<name>`; case does not matter. None by default. Of a client or
  /// server without an adapter, a request has those that `begin` and `withRequest` are given.
  public var allowedRequestHeaders: Set<String> = []
  /// The response headers that are shown, as `http.response.header.<name>`; case does not matter. None by default.
  public var allowedResponseHeaders: Set<String> = []
  /// The app's own rule, after all others: gets the key and the text of `url.full` or `url.path`, of each header, and of each field
  /// that the app has added with text for a value. Gives the text to show, or `nil` to leave the field out. Called on the
  /// thread that delivers the request, which may be one that serves a scrape: it must return within microseconds.
  public var custom: (@Sendable (_ key: String, _ value: String) -> String?)?

  /// The defaults.
  public init() {}

  /// The names of the headers that are shown.
  package var headers: HeaderNames {
    HeaderNames(request: allowedRequestHeaders, response: allowedResponseHeaders)
  }
}
