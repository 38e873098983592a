/// A consumer of the requests that an app serves: the log, or the app's own.
public protocol InboundRequestObserver: Sendable {
  /// A request came to its end. Every request that began calls this once, by the rules of ``RequestObserver``.
  func inboundRequestEnded(_ observation: InboundObservation)
}
