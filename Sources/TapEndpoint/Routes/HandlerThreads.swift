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
    while let work = next() { work() }
  }

  /// Waits for work while the thread is idle. `nil` ends the thread.
  private func next() -> (@Sendable () -> Void)? {
    let waiting = state.withLock { state in
      if state.work.isEmpty { state.idleThreads += 1 }
      return state.work.isEmpty ? nil : state.work.removeFirst()
    }
    if let waiting { return waiting }
    while true {
      let isWoken: Void? = added.wait(until: .now.advanced(by: Self.idleTime)) {
        state.withLock { $0.work.isEmpty ? nil : () }
      }
      let (work, ends) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
        // Another thread has taken what this one was woken for.
        if state.work.isEmpty, isWoken != nil { return (nil, false) }
        state.idleThreads -= 1
        if state.work.isEmpty { state.threads -= 1 }
        return state.work.isEmpty ? (nil, true) : (state.work.removeFirst(), true)
      }
      if ends { return work }
    }
  }
}
