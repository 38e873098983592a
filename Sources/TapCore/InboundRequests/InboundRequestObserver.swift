/// A consumer of the requests that an app serves: the log, or the app's own.
public protocol InboundRequestObserver: Sendable {
  /// A request came to its end. Every request that began calls this once, on the thread that ends it. An observer must
  /// return within microseconds and must not block.
  func inboundRequestEnded(_ observation: InboundObservation)
}
