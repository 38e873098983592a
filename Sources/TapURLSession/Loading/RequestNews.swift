import TapCore

/// The events of a request that its observers have not received yet. A class, because a value of this size would be copied for each
/// observer.
final class RequestNews: Sendable {
  let observers: [any RequestObserver]
  let isStart: Bool
  /// For how long it has waited, if that is news.
  let wait: Duration?
  let isEnd: Bool
  /// As if the request had been cancelled at once, where it has not ended.
  let observation: RequestObservation

  init(
    observers: [any RequestObserver], isStart: Bool, wait: Duration?, isEnd: Bool,
    observation: consuming RequestObservation
  ) {
    self.observers = observers
    self.isStart = isStart
    self.wait = wait
    self.isEnd = isEnd
    self.observation = observation
  }

  /// Tells one of the observers, by its place.
  func tell(_ place: Int) {
    guard observers.indices.contains(place) else { return }
    if isStart { observers[place].requestStarted(observation.request) }
    if let wait { observers[place].requestWaits(observation.request, for: wait) }
    if isEnd { observers[place].requestEnded(observation) }
  }
}
