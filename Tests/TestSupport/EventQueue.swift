/// Events that a test waits for one by one, in their order. An event that came before it was waited for is
/// kept.
package final class EventQueue<Event: Sendable>: Sendable {
  private let events = Watched<[Event]>([])

  package init() {}

  package func send(_ event: Event) { events.change { $0.append(event) } }

  /// Waits for an event and takes it. Throws if the deadline passes.
  package func next(seconds: Double = 120, _ what: String) async throws -> Event {
    while true {
      try await events.wait(seconds: seconds, what) { !$0.isEmpty }
      var event: Event?
      events.change { if !$0.isEmpty { event = $0.removeFirst() } }
      if let event { return event }
    }
  }
}

extension EventQueue where Event == Void { package func send() { send(()) } }
