/// A consumer of the requests that an app serves: the log, or the app's own.
public protocol InboundRequestObserver: Sendable {
  /// A request came to its end. Every request that began calls this once. The call comes late, by a tenth of a second at
  /// most, one after another, from a thread of ``InboundRequests``; or at once from one that scrapes, that exits, or that
  /// ends a request when many wait. An observer must return within microseconds and must not block.
  func inboundRequestEnded(_ observation: InboundObservation)
}
