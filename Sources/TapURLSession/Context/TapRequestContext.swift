public import TapCore

/// What an app says about a request beyond what the request itself tells.
///
/// ```swift
/// var request = URLRequest(url: url)
/// request.tapContext = TapRequestContext(urlTemplate: "/users/{id}", fields: ["tenant": "acme"])
/// ```
public struct TapRequestContext: Sendable, Hashable {
  /// A low-cardinality form of the path: the `url_template` label. Wins over the tap's own templates.
  public var urlTemplate: String?
  /// Fields for the request's log line.
  public var fields: [String: FieldValue]
  /// The trace that the request belongs to, where it carries no `traceparent` header.
  public var traceContext: TraceContext?

  /// Makes a context.
  public init(
    urlTemplate: String? = nil, fields: [String: FieldValue] = [:], traceContext: TraceContext? = nil
  ) {
    self.urlTemplate = urlTemplate
    self.fields = fields
    self.traceContext = traceContext
  }

  /// The context of the requests that the current Swift task makes, for those without one of their own.
  ///
  /// On Linux a loader is made within `resume()`, where this is visible, only for download tasks and in
  /// sessions whose configuration has no `urlCache`. Elsewhere use `URLRequest.tapContext`.
  @TaskLocal public static var current: TapRequestContext?
}
