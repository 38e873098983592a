import Synchronization
import TapCore

/// Runs handlers on threads of its own, so that one that blocks or computes holds up neither Swift's threads, nor
/// Dispatch's, nor the one of all connections. A thread ends when nothing waits for it.
final class HandlerThreads: TaskExecutor {
  private let limit: Int
  private let state = Mutex((work: [@Sendable () -> Void](), threads: 0))

  /// - Parameter limit: the most threads. What exceeds them waits.
  init(limit: Int = 16) { self.limit = limit }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    perform { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  func perform(_ work: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.work.append(work)
      guard state.threads < limit else { return false }
      state.threads += 1
      return true
    }
    guard needsThread else { return }
    do {
      try BackgroundThread.start { [self] in
        while let work = next() { work() }
      }
    } catch {
      // The next one tries again. Until then the deadline answers what waits.
      state.withLock { $0.threads -= 1 }
    }
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
