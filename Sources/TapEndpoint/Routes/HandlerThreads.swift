import Synchronization
import TapCore

/// Runs handlers on threads of its own, so that one that blocks or computes holds up neither Swift's threads, nor
/// Dispatch's, nor the one of all connections. Threads start when they are needed, and end when they are idle.
final class HandlerThreads: TaskExecutor {
  private struct State {
    var work: [@Sendable () -> Void] = []
    var threads = 0
    var idleThreads = 0
  }

  private static let idleTime = Duration.seconds(1)

  private let limit: Int
  private let state = Mutex(State())
  private let added = EventCount()

  /// - Parameter limit: the most threads. What exceeds them waits.
  init(limit: Int = 16) { self.limit = limit }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    perform { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  func perform(_ work: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.work.append(work)
      guard state.work.count > state.idleThreads, state.threads < limit else { return false }
      state.threads += 1
      return true
    }
    added.signal()
    guard needsThread else { return }
    do {
      try BackgroundThread.start { [self] in run() }
    } catch {
      // The next one tries again. Until then the deadline answers what waits.
      state.withLock { $0.threads -= 1 }
    }
  }

  private func run() {
    while true {
      let ticket = added.ticket
      if let work = next() {
        work()
      } else {
        let isWoken = added.wait(past: ticket, until: .now.advanced(by: Self.idleTime))
        let ends = state.withLock { state in
          state.idleThreads -= 1
          let ends = !isWoken && state.work.isEmpty
          if ends { state.threads -= 1 }
          return ends
        }
        if ends { return }
      }
    }
  }

  /// Counts the thread as idle if there is nothing to do.
  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if state.work.isEmpty {
        state.idleThreads += 1
        return nil
      }
      return state.work.removeFirst()
    }
  }
}
