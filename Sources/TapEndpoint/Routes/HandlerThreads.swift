import Synchronization
import TapCore

/// Runs handlers on threads of its own, so that one that blocks or computes holds up neither Swift's threads,
/// nor Dispatch's, nor the one of all connections. A thread ends when nothing waits for it.
final class HandlerThreads: Sendable {
  private let limit: Int
  private let state = Mutex((work: [@Sendable () -> Void](), threads: 0))

  /// - Parameter limit: the most threads. What exceeds them waits.
  init(limit: Int = 16) { self.limit = limit }

  /// Runs the work. Throws if the system refuses the only thread that would: the work is not run then.
  func perform(_ work: @escaping @Sendable () -> Void) throws(System.Failure) {
    // Under the lock, so that no work relies on a thread that the system refuses.
    let isTaken = state.withLock { state in
      if state.threads < limit, (try? BackgroundThread.start { [self] in run() }) != nil {
        state.threads += 1
      }
      guard state.threads > 0 else { return false }
      state.work.append(work)
      return true
    }
    if !isTaken { throw .again }
  }

  private func run() {
    while let work = next() { work() }
  }

  /// `nil` ends the thread.
  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if !state.work.isEmpty { return state.work.removeFirst() }
      state.threads -= 1
      return nil
    }
  }
}
