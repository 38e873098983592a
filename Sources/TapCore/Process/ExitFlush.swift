import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What hands on, at a normal exit of the process, what it still holds.
package protocol FlushedAtExit: AnyObject, Sendable {
  /// Hands on what there is, and gives up after this time.
  func flushAtExit(within limit: Duration)
}

/// Flushes what is still there when the process exits normally: last what was added first, since that is where the
/// others hand on to.
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

  /// Adds an object, which is forgotten with its last owner.
  package static func add(_ object: any FlushedAtExit) {
    let isFirst = state.withLock { state in
      state.references.removeAll { $0.object == nil }
      state.references.append(Reference(object: object))
      defer { state.isRegistered = true }
      return !state.isRegistered
    }
    if isFirst { atexit { ExitFlush.flush() } }
  }

  private static func flush() {
    let start = ContinuousClock.now
    for reference in state.withLock({ $0.references }).reversed() {
      reference.object?.flushAtExit(within: max(.zero, limit - start.duration(to: .now)))
    }
  }
}
