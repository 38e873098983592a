public import TapCore

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension URLRequest {
  /// What the app says about this request. It survives copies and changes of the request.
  ///
  /// Set it after `timeoutInterval`: on Linux Foundation forgets that a time-out of exactly 60 seconds was set
  /// on purpose, and applies the configuration's. It is not sent. A request without a URL has none.
  public var tapContext: TapRequestContext? {
    get {
      // Foundation on Linux cannot copy a request without a URL: to try ends the process
      // (`NSURLRequest.mutableCopy(with:)`).
      guard ContextualURLRequest.isInUse, url != nil else { return nil }
      return (self as NSURLRequest as? ContextualURLRequest)?.context
    }
    set {
      guard url != nil else { return }
      let timeout = timeoutInterval
      self = ContextualURLRequest(copying: self as NSURLRequest, context: newValue) as URLRequest
      // Foundation on Linux keeps beside the request whether its time-out was set (`isTimeoutIntervalSet`).
      if timeout != Self.defaultTimeout { timeoutInterval = timeout }
    }
  }

  /// Makes the request carry a trace: sets its `traceparent` header (W3C Trace Context, section 3.2). The tap
  /// itself changes no request.
  ///
  /// - Parameter trace: The place of this request in its trace. By default a child of ``/TapCore/TraceContext/current``,
  ///   so that what an app asks of others while it serves a request belongs to that request's trace; and a new trace
  ///   where there is none.
  public mutating func setTrace(_ trace: TraceContext = TraceContext.current?.child() ?? .random()) {
    setValue(trace.traceparent, forHTTPHeaderField: "traceparent")
  }

  /// The time-out of a request that none was given.
  private static let defaultTimeout: TimeInterval = 60
}
