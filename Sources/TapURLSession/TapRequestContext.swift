import Synchronization
public import TapCore
public import TapFoundation

/// An app's additions to a request: a template, fields of the log line, a trace.
///
/// ```swift
/// var request = URLRequest(url: url)
/// request.tapContext = TapRequestContext(urlTemplate: "/users/{id}", fields: ["tenant": "acme"])
/// ```
public struct TapRequestContext: Sendable, Hashable {
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
    get {
      // Foundation on Linux cannot copy a request without a URL: to try ends the process
      // (`NSURLRequest.mutableCopy(with:)`).
      guard ContextualURLRequest.isInUse, url != nil else { return nil }
      return (self as NSURLRequest as? ContextualURLRequest)?.context
    }
    set {
      guard url != nil else { return }
      let (timeout, isTimeoutSet) = (timeoutInterval, hasTimeout)
      self = ContextualURLRequest(copying: self as NSURLRequest, context: newValue) as URLRequest
      if isTimeoutSet { timeoutInterval = timeout }
    }
  }

  /// Sets the request's `traceparent` header (W3C Trace Context, section 3.2). The tap itself changes no
  /// request.
  ///
  /// - Parameter trace: The place of this request in its trace. By default ``/TapCore/TraceContext/next()``:
  ///   a child of the trace of the request that the app serves, or a new trace if there is none.
  public mutating func setTrace(_ trace: TraceContext = .next()) {
    var headers = (allHTTPHeaderFields ?? [:]).filter { $0.key.lowercased() != "traceparent" }
    // As `setValue(_:forHTTPHeaderField:)` stores it. On Linux that looks at each character of a value for
    // line breaks (`httpHeaderValueIsValid`), which takes as long as all that the tap does.
    headers["Traceparent"] = trace.traceparent
    allHTTPHeaderFields = headers
    guard trace.span != nil else { return }
    var context = tapContext ?? TapRequestContext()
    context.traceContext = trace
    tapContext = context
  }

  /// A copy of the request with a trace; see ``setTrace(_:)``.
  public func traced(_ trace: TraceContext = .next()) -> URLRequest {
    var request = self
    request.setTrace(trace)
    return request
  }

  /// A GET request that carries a trace, ``/TapCore/TraceContext/next()``.
  ///
  /// ```swift
  /// let (data, response) = try await session.data(for: .traced(url))
  /// ```
  public static func traced(_ url: URL) -> URLRequest {
    // Not a copy of one that is not needed any more: Foundation's copies are deep.
    var request = URLRequest(url: url)
    request.setTrace()
    return request
  }
}

extension URLRequest {
  /// Where Foundation on Linux keeps, beside the request, whether its property `timeoutInterval` was set. It
  /// ignores the time-out that an initialiser takes (`configureEasyHandle(for:body:)` in
  /// HTTPURLProtocol.swift). `nil` unless the byte of a request changes from 0 to 1 when its time-out is set.
  private static let timeoutFlag: Int? = {
    guard let flag = StoredProperty("isTimeoutIntervalSet", of: Self.self, type: "Swift.Bool") else {
      return nil
    }
    var request = URLRequest(url: URL(fileURLWithPath: "/"))
    func byte() -> UInt8 {
      withUnsafeBytes(of: request) { $0.indices.contains(flag.offset) ? $0[flag.offset] : .max }
    }
    guard byte() == 0 else { return nil }
    request.timeoutInterval = 1
    return byte() == 1 ? flag.offset : nil
  }()

  /// Whether the property `timeoutInterval` was set, or `nil` if that is unknown.
  var isTimeoutSet: Bool? { Self.timeoutFlag.map { flag in withUnsafeBytes(of: self) { $0[flag] != 0 } } }

  /// The same. Where it is unknown, a time-out that is not the default was probably set.
  private var hasTimeout: Bool { isTimeoutSet ?? (timeoutInterval != 60) }
}

/// A request that keeps a context through copies and changes.
///
/// `URLProtocol.setProperty` does not survive the bridge between `URLRequest` and `NSURLRequest` on Linux.
/// The reference that a `URLRequest` stands on does, as long as its copies are of the same class.
final class ContextualURLRequest: NSMutableURLRequest {
  let context: TapRequestContext?

  /// Whether the process has made any. To look for a context costs a copy of the request.
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
    copyPipelining(of: source)
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

/// `httpShouldUsePipelining`, which Foundation on Linux acts on no more and the app reads back. It is
/// deprecated: its name would be a warning, and a requirement that it satisfies is none.
protocol PipelinedRequest {
  var httpShouldUsePipelining: Bool { get }
}

protocol MutablePipelinedRequest: AnyObject {
  var httpShouldUsePipelining: Bool { get set }
}

extension NSURLRequest: PipelinedRequest {}
extension NSMutableURLRequest: MutablePipelinedRequest {}

extension MutablePipelinedRequest {
  fileprivate func copyPipelining(of source: some PipelinedRequest) {
    httpShouldUsePipelining = source.httpShouldUsePipelining
  }
}
