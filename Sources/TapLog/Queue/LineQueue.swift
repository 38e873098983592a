import Synchronization
import TapCore

/// The bounded queue between the threads that make lines and the one that writes them.
///
/// There are two buffers with the same limits: lines go into one while the writer has the other, and they change
/// places under the lock. A line is copied once, and no lock is held while bytes are written.
final class LineQueue: Sendable {
  let limits: QueueLimits
  let state: Mutex<State>
  /// Runs the writer.
  let worker: Worker
  /// Wakes the threads that wait for the writer, in a flush or a shutdown.
  let progress = EventCount()

  init(limits: QueueLimits, worker: Worker) {
    self.limits = limits
    self.worker = worker
    state = Mutex(State(limits: limits))
  }

  var statistics: LogStatistics {
    state.withLock { state in
      var statistics = state.statistics
      statistics.pending = UInt64(state.lines.count) &+ state.inFlight
      return statistics
    }
  }

  /// Adds a line, newline included, or drops one and counts it.
  @inline(__always)
  func enqueue(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    if offer(line, severity: severity) { wakeWriter() }
  }

  /// Where the system gives no thread, lines wait for the next attempt.
  private func wakeWriter() {
    do { try worker.signal() } catch { state.withLock { $0.writer = .idle } }
  }

  /// Whether the writer has to be woken.
  private func offer(_ line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    state.withLock { state in
      guard state.phase == .running else {
        state.drop(.shutdown)
        return false
      }
      if !state.lines.append(line, severity: severity) {
        switch limits.whenFull {
        case .dropOldest where state.replaceOldest(by: line, severity: severity): break
        case .dropNewest, .dropOldest:
          state.drop(state.fullReason)
          return false
        }
      }
      state.accepted &+= 1
      return state.shouldWakeWriter(limits)
    }
  }

  /// Lets the writer write what there is without waiting for more.
  func endBatch() {
    state.withLock { $0.isBatchWhole = !$0.lines.isEmpty }
  }

  /// Waits until all lines that came before are written and flushed, or dropped. `false` if the deadline came first.
  func flush(until deadline: Instant) -> Bool {
    let target = state.withLock { state in
      state.flushTarget = max(state.flushTarget, state.accepted)
      return state.flushTarget
    }
    wakeWriter()
    return waitForProgress(until: deadline) { state in
      if state.flushed >= target { return true }
      return state.phase == .closed || state.phase == .ended ? false : nil
    }
  }

  /// Takes no more lines, lets the writer write what there is, and waits for it to end. What is not written at
  /// the deadline, or at that of another shutdown, is dropped. `false` if that is so.
  func shutdown(until deadline: Instant) -> Bool {
    beginShutdown(until: deadline)
    let isWhole = waitForProgress(until: deadline) { state in
      switch state.phase {
      case .ended: state.flushed >= state.accepted
      // Given up. The writer may be stuck in its last call for good.
      case .closed where state.flushed < state.accepted: false
      case .running, .draining, .closed: nil
      }
    }
    if isWhole { return true }
    state.withLock { state in
      if case .draining = state.phase { state.giveUp() }
    }
    wakeWriter()
    progress.signal()
    return false
  }

  /// Takes no more lines; the writer ends when all are written, or at the deadline.
  func beginShutdown(until deadline: Instant) {
    state.withLock { state in
      guard state.phase == .running else { return }
      state.phase = .draining(until: deadline)
      state.flushTarget = state.accepted
    }
    wakeWriter()
    progress.signal()
  }

  private func waitForProgress(until deadline: Instant, answer: (borrowing State) -> Bool?) -> Bool {
    while true {
      let ticket = progress.ticket
      if let result = state.withLock({ state in answer(state) }) { return result }
      if !progress.wait(past: ticket, until: deadline) {
        return state.withLock { state in answer(state) } ?? false
      }
    }
  }
}

extension LineQueue: FlushedAtExit {
  func flushAtExit(within limit: Duration) {
    _ = flush(until: Instant.now.advanced(by: limit))
  }
}
