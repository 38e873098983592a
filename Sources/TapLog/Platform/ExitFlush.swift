import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Flushes the logs that are still there when the process exits normally.
enum ExitFlush {
  private struct State {
    var isRegistered = false
    var queues: [Reference] = []
  }

  private struct Reference: Sendable {
    weak let queue: LineQueue?
  }

  private static let state = Mutex(State())
  /// How long all of them together may take.
  private static let limit = Duration.seconds(1)

  /// Adds a log's queue, which is forgotten with the log.
  static func add(_ queue: LineQueue) {
    let isFirst = state.withLock { state in
      state.queues.removeAll { $0.queue == nil }
      state.queues.append(Reference(queue: queue))
      defer { state.isRegistered = true }
      return !state.isRegistered
    }
    if isFirst { atexit { ExitFlush.flush() } }
  }

  private static func flush() {
    let deadline = System.uptime.advanced(by: limit)
    for reference in state.withLock({ $0.queues }) { _ = reference.queue?.flush(until: deadline) }
  }
}
