/// An app's own consumer of requests, of both directions (``RequestDescription/direction``).
///
/// Every request calls ``requestStarted(_:)`` once and ``requestEnded(_:)`` once, in that order. The calls come late, by a tenth
/// of a second or so, one after another, on a thread of their own: a slow observer delays neither requests nor scrapes. When
/// 4,096 calls wait, further ones are dropped and counted in `session_tap_observer_dropped_total`.
public protocol RequestObserver: Sendable {
  /// A request began.
  func requestStarted(_ request: RequestDescription)
  /// A request that had started came to its end.
  func requestEnded(_ observation: RequestObservation)
}
