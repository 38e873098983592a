import TapCore

/// What the first start of a request fixes for its end. An object, since it is handed around.
final class StartedRequest: Sendable {
  let description: RequestDescription
  /// Who hears of the start and of the end, whoever observes the tap by then.
  let observers: [any RequestObserver]
  let timestamp = Timestamp.now
  let instant = ContinuousClock.now

  init(_ description: RequestDescription, observers: [any RequestObserver]) {
    self.description = description
    self.observers = observers
  }
}
