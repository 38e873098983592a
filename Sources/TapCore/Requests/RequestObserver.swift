/// An app's own consumer of requests, of both directions (``RequestDescription/direction``).
///
/// Every request calls ``requestStarted(_:)`` once and ``requestEnded(_:)`` once, in that order, and may call
/// ``requestWaits(_:for:)`` between them. The calls come late, by a tenth of a second or so, one after another, on a thread of
/// their own: a slow observer delays neither requests nor scrapes. When 4,096 calls wait, further ones are dropped and counted
/// in `session_tap_observer_dropped_total`.
public protocol RequestObserver: Sendable {
  /// A request began.
  func requestStarted(_ request: RequestDescription)
  /// A request that had started came to its end.
  func requestEnded(_ observation: RequestObservation)
  /// A request has waited so long for an answer to its server's challenge that it may never end: Foundation on Linux waits
  /// without a limit where it gets no credentials. At most once for a request.
  func requestWaits(_ request: RequestDescription, for duration: Duration)
}

extension RequestObserver {
  /// Does nothing.
  public func requestWaits(_ request: RequestDescription, for duration: Duration) {}
}

/// A consumer that is called within ``RequestRecorder/drain()``, on any thread: it returns within microseconds, waits for nothing
/// but a short lock, and calls no code of the app's.
package protocol RequestConsumer: RequestObserver {}
