/// A consumer of requests: the metrics, the log, or the app's own.
///
/// Every request calls ``requestStarted(_:)`` once and ``requestEnded(_:)`` once, in that order, and may call
/// ``requestWaits(_:for:)`` between them. The calls come late, by a tenth of a second or so, one after another, from a thread
/// of the library's.
///
/// The observers of a `Tap.Configuration` have a thread of their own and may take their time: when too many calls wait, further
/// ones are dropped and counted. An observer that is given to a `URLSessionTap` directly, as the metrics and the log are, is
/// called by the thread that delivers requests, which may be one that scrapes: it must return within microseconds and must
/// not block.
public protocol RequestObserver: Sendable {
  /// A request began to load.
  func requestStarted(_ request: RequestDescription)
  /// A request that had started came to its end.
  func requestEnded(_ observation: RequestObservation)
  /// A request has waited so long for an answer to its server's challenge that it may never end: Foundation
  /// on Linux waits without a limit where nobody supplies credentials. At most once for a request.
  func requestWaits(_ request: RequestDescription, for duration: Duration)
}

extension RequestObserver {
  /// Does nothing.
  public func requestWaits(_ request: RequestDescription, for duration: Duration) {}
}
