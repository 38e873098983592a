/// An app's own consumer of requests in both directions (``RequestDescription/direction``).
///
/// Each request calls ``requestStarted(_:)`` once and then ``requestEnded(_:)`` once. The calls come about a
/// tenth of a second late, one after another, on a thread of their own: a slow observer delays neither
/// requests nor scrapes. When 4,096 calls wait, further ones are dropped and counted in
/// `session_tap_observer_dropped_total`.
public protocol RequestObserver: Sendable {
  /// A request began. Does nothing by default.
  func requestStarted(_ request: RequestDescription)
  /// A request ended.
  func requestEnded(_ observation: RequestObservation)
}

extension RequestObserver {
  /// Does nothing.
  public func requestStarted(_ request: RequestDescription) {}
}

/// A consumer that is called within ``RequestRecorder/drain()``, on any thread: it returns within microseconds, waits for nothing
/// but a short lock, and calls no code of the app's.
package protocol RequestConsumer: RequestObserver, AnyObject {
  /// The calls of a batch have been made. Does nothing by default.
  func batchEnded()
  /// Wakes a thread of its own that the system refused before. Does nothing by default.
  func wakeIfRefused()
}

extension RequestConsumer {
  package func batchEnded() {}
  package func wakeIfRefused() {}
}
