/// Events that a test waits for one by one, in their order. An event that came before it was waited for is kept.
package final class EventQueue<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var arrived = Gate()
  }

  private let state = Mutex(State())

  package init() {}

  package func send(_ event: Event) {
    state.withLock { state in
      state.events.append(event)
      return state.arrived
    }.open()
  }

  /// Waits for an event and takes it. Throws if the deadline passes.
  package func next(seconds: Double = 120, _ what: String) async throws -> Event {
    while true {
      let (event, arrived) = state.withLock { state -> (Event?, Gate) in
        if !state.events.isEmpty { return (state.events.removeFirst(), state.arrived) }
        state.arrived = Gate()
        return (nil, state.arrived)
      }
      if let event { return event }
      try await arrived.wait(seconds: seconds, what)
    }
  }
}

extension EventQueue where Event == Void { package func send() { send(()) } }
