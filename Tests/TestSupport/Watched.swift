/// A state that a test waits for.
package final class Watched<State: Sendable>: Sendable {
  private struct Content {
    var state: State
    var waiting: [(isReached: @Sendable (State) -> Bool, gate: Gate)] = []
  }

  private let content: Mutex<Content>

  package init(_ state: State) { content = Mutex(Content(state: state)) }

  package var state: State { content.withLock { $0.state } }

  package func change(_ change: (inout State) -> Void) {
    let reached = content.withLock { content in
      change(&content.state)
      let state = content.state
      defer { content.waiting.removeAll { $0.isReached(state) } }
      return content.waiting.filter { $0.isReached(state) }
    }
    for (_, gate) in reached { gate.open() }
  }

  /// Waits until the state is as wanted. Throws if the deadline passes.
  package func wait(
    seconds: Double = 120, _ what: String, until isReached: @escaping @Sendable (State) -> Bool
  ) async throws {
    let gate = Gate()
    content.withLock { content in
      if isReached(content.state) { gate.open() } else { content.waiting.append((isReached, gate)) }
    }
    try await gate.wait(seconds: seconds, what)
  }
}
