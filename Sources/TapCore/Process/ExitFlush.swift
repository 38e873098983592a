import Synchronization

/// An object that delivers what it still holds at a normal exit of the process.
package protocol FlushedAtExit: AnyObject, Sendable {
  /// Delivers everything, or as much as it can within the limit.
  func flushAtExit(within limit: Duration)
}

/// Flushes objects at a normal exit of the process, in the reverse of the order in which they were added: a later
/// one delivers to an earlier one.
package enum ExitFlush {
  private struct State {
    var isRegistered = false
    var references: [Reference] = []
  }

  private struct Reference: Sendable {
    weak var object: (any FlushedAtExit)?
  }

  private static let state = Mutex(State())
  /// How long all of them together may take.
  private static let limit = Duration.seconds(1)

  /// Adds an object. The reference is weak.
  package static func add(_ object: any FlushedAtExit) {
    let isFirst = state.withLock { state in
      state.references.removeAll { $0.object == nil }
      state.references.append(Reference(object: object))
      defer { state.isRegistered = true }
      return !state.isRegistered
    }
    if isFirst { System.atExit { ExitFlush.flush() } }
  }

  private static func flush() {
    let start = Instant.now
    for reference in state.withLock({ $0.references }).reversed() {
      reference.object?.flushAtExit(within: max(.zero, limit - start.duration(to: .now)))
    }
  }
}
