/// A consumer of the requests that an app serves: the log, or the app's own.
public protocol InboundRequestObserver: Sendable {
  /// A request came to its end. Every request that began calls this once. The call comes late, by a tenth of a second at
  /// most, from a thread of the tap's, as ``RequestObserver`` has it; ``InboundRequests`` that stand alone call at once, on
  /// the thread that ends the request. An observer must return within microseconds and must not block.
  func inboundRequestEnded(_ observation: InboundObservation)
}
