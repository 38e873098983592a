import Synchronization
public import TapCore
public import TapFoundation

/// An app's additions to a request: a template, fields of the log line, a trace.
///
///     request.tapContext = TapRequestContext(urlTemplate: "/users/{id}", fields: ["tenant": "acme"])
public struct TapRequestContext: Sendable, Equatable {
  /// A low-cardinality form of the path: the `url_template` label. Takes precedence over the tap's own
  /// templates.
  public var urlTemplate: String?
  /// Fields for the request's log line.
  public var fields: [String: FieldValue]
  /// The trace of the request, if it carries no `traceparent` header.
  public var traceContext: TraceContext?

  /// Makes a context.
  public init(
    urlTemplate: String? = nil, fields: [String: FieldValue] = [:], traceContext: TraceContext? = nil
  ) {
    self.urlTemplate = urlTemplate
    self.fields = fields
    self.traceContext = traceContext
  }
}

extension URLRequest {
  /// The app's additions to this request. Copies and changes of the request keep them. They are not sent.
  ///
  /// The request is otherwise the same with a context and without one. A request without a URL has no
  /// context.
  public var tapContext: TapRequestContext? {
    get { contextual?.context }
    set {
      guard url != nil else { return }
      // If it is unknown, a time-out other than the default was probably set.
      let (timeout, isTimeoutSet) = (timeoutInterval, isTimeoutSet ?? (timeoutInterval != 60))
      self = ContextualURLRequest(copying: self as NSURLRequest, context: newValue) as URLRequest
      if isTimeoutSet { timeoutInterval = timeout }
    }
  }

  /// What keeps the context, if there is one.
  var contextual: ContextualURLRequest? {
    // Foundation on Linux ends the process when it copies a request without a URL
    // (`NSURLRequest.mutableCopy(with:)`).
    guard ContextualURLRequest.isInUse, url != nil else { return nil }
    return self as NSURLRequest as? ContextualURLRequest
  }

  mutating func setTrace(_ trace: TraceContext) {
    // A new trace has nothing of the old one's state.
    var headers = (allHTTPHeaderFields ?? [:]).filter { field in
      let name = field.key.lowercased()
      return name != "traceparent" && name != "tracestate"
    }
    // As `setValue(_:forHTTPHeaderField:)` stores it, which on Linux takes as long as all of the tap's work:
    // it searches each character for line breaks (`httpHeaderValueIsValid`).
    headers["Traceparent"] = trace.traceparent
    if let state = trace.tracestate { headers["Tracestate"] = state }
    allHTTPHeaderFields = headers
    guard trace.span != nil else { return }
    var context = tapContext ?? TapRequestContext()
    context.traceContext = trace
    tapContext = context
  }

  /// A copy of the request with the headers `traceparent` and, if the trace has one, `tracestate` (W3C Trace
  /// Context, sections 3.2 and 3.3): by default of ``/TapCore/TraceContext/next()``. The tap itself changes
  /// no request.
  public func traced(_ trace: TraceContext = .next()) -> URLRequest {
    var request = self
    request.setTrace(trace)
    return request
  }

  /// A GET request that carries a trace, ``/TapCore/TraceContext/next()``: `session.data(for: .traced(url))`.
  public static func traced(_ url: URL) -> URLRequest {
    // Not `URLRequest(url: url).traced()`: Foundation's copies are deep.
    var request = URLRequest(url: url)
    request.setTrace(.next())
    return request
  }
}

/// A request that keeps a context through copies and changes.
///
/// `URLProtocol.setProperty` does not survive the bridge between `URLRequest` and `NSURLRequest` on Linux.
/// The reference that a `URLRequest` stands on does, as long as its copies are of the same class.
final class ContextualURLRequest: NSMutableURLRequest {
  let context: TapRequestContext?

  /// Whether the process has made any. Looking for a context copies the request.
  static var isInUse: Bool { used.load(ordering: .relaxed) }
  private static let used = Atomic<Bool>(false)

  init(copying source: NSURLRequest, context: TapRequestContext?) {
    self.context = context
    Self.used.store(true, ordering: .relaxed)
    super.init(
      url: source.url ?? URL(fileURLWithPath: "/"), cachePolicy: source.cachePolicy,
      timeoutInterval: source.timeoutInterval)
    // The initialiser makes it absolute.
    url = source.url
    mainDocumentURL = source.mainDocumentURL
    networkServiceType = source.networkServiceType
    allowsCellularAccess = source.allowsCellularAccess
    httpShouldHandleCookies = source.httpShouldHandleCookies
    httpMethod = source.httpMethod ?? "GET"
    allHTTPHeaderFields = source.allHTTPHeaderFields
    // One of the two: setting either clears the other.
    if let stream = source.httpBodyStream { httpBodyStream = stream } else { httpBody = source.httpBody }
  }

  required init?(coder: NSCoder) {
    context = nil
    super.init(coder: coder)
  }

  override func copy(with zone: NSZone? = nil) -> Any {
    ContextualURLRequest(copying: self, context: context)
  }
  override func mutableCopy(with zone: NSZone? = nil) -> Any { copy(with: zone) }

  /// An archive has the request, and no class of this module.
  override var classForCoder: AnyClass { NSMutableURLRequest.self }
}
