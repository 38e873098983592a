import Synchronization
import TapCore

/// The bounded queue between the threads that make lines and the one that writes them.
///
/// There are two buffers: lines go into one while the other is written, and they change places under the lock. No lock that a
/// maker of lines takes is held while bytes are written.
final class LogQueue: FlushedAtExit {
  let output: any LogOutput
  let recentLines: RecentLines?
  let state: Mutex<State>
  /// What the worker alone uses.
  let writing = Mutex(Writing())
  /// Wakes the threads that wait in a flush or a shutdown.
  let progress = EventCount()
  /// A line that finds the queue full is dropped and counted.
  private let limits: (bytes: Int, lines: Int)
  private let worker: Worker

  init(
    to output: any LogOutput, limits: (bytes: Int, lines: Int), recentLines: RecentLines? = nil,
    worker: Worker = Worker()
  ) {
    self.output = output
    self.recentLines = recentLines
    self.limits = limits
    self.worker = worker
    state = Mutex(State())
  }

  /// Has the worker run once, so that a system that gives no thread is noticed.
  func start() throws(System.Failure) { try worker.run(self) }

  var statistics: LogStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.pending = state.accepted &- state.settled
      return statistics
    }
  }

  /// Adds a line, newline included, or drops one and counts it.
  ///
  /// The worker comes at the next tick for the first line, and at once when many wait: callers must not find the queue full
  /// while it waits.
  func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    let (isFirst, areMany) = state.withLock { state in
      guard state.phase == .running else {
        state.drop(.shutdown)
        return (false, false)
      }
      guard state.lines.count < limits.lines, line.count <= limits.bytes - state.lines.byteCount else {
        state.drop(state.isFaulted ? .writeError : .queueFull)
        return (false, false)
      }
      let wereMany = isMuch(state.lines)
      state.lines.append(line, severity: severity)
      state.accepted &+= 1
      defer { state.isWorkerAsked = true }
      return (!state.isWorkerAsked, !wereMany && isMuch(state.lines))
    }
    if isFirst || areMany { askWorker(by: areMany ? .now : .nextTick) }
  }

  /// Whether the queue is half full, or has enough lines for one write.
  private func isMuch(_ lines: LineBuffer) -> Bool {
    lines.byteCount >= min(65_536, limits.bytes / 2) || lines.count > limits.lines / 2
  }

  /// Where the system gives no thread, the next line tries again.
  private func askWorker(by instant: Instant = .now) {
    do { try worker.run(self, by: instant) } catch { state.withLock { $0.isWorkerAsked = false } }
  }

  /// Waits until all lines that came before are written and flushed, or dropped. `false` if the deadline came first.
  func flush(until deadline: Instant) -> Bool {
    let (target, flushed) = state.withLock { state in
      state.flushTarget = max(state.flushTarget, state.accepted)
      return (state.flushTarget, state.flushed)
    }
    if flushed >= target { return true }
    askWorker()
    return waitForProgress(until: deadline) { state in
      if state.flushed >= target { return true }
      return state.phase == .closed || state.phase == .ended ? false : nil
    }
  }

  /// Takes no more lines, lets the worker write what there is, and waits for it to end. What is not written at
  /// the deadline, or at that of another shutdown, is dropped. `false` if that is so.
  func shutdown(until deadline: Instant) -> Bool {
    beginShutdown(until: deadline)
    let isWhole = waitForProgress(until: deadline) { state in
      switch state.phase {
      case .ended: state.flushed >= state.accepted
      // Given up. The worker may be stuck in its last call for good.
      case .closed where state.flushed < state.accepted: false
      case .running, .draining, .closed: nil
      }
    }
    if isWhole { return true }
    state.withLock { state in
      if case .draining = state.phase { state.giveUp() }
    }
    askWorker()
    progress.signal()
    return false
  }

  /// Takes no more lines; the worker ends when all are written, or at the deadline.
  func beginShutdown(until deadline: Instant) {
    state.withLock { state in
      guard state.phase == .running else { return }
      state.phase = .draining(until: deadline)
      state.flushTarget = state.accepted
    }
    askWorker()
  }

  private func waitForProgress(until deadline: Instant, answer: (State) -> Bool?) -> Bool {
    while true {
      let ticket = progress.ticket
      if let result = state.withLock({ state in answer(state) }) { return result }
      if !progress.wait(past: ticket, until: deadline) {
        return state.withLock { state in answer(state) } ?? false
      }
    }
  }

  func flushAtExit(within limit: Duration) {
    _ = flush(until: Instant.now.advanced(by: limit))
  }
}
