import Synchronization
import TapCore

extension LineQueue {
  /// What the writer does next.
  enum Step: Equatable {
    /// Write the batch.
    case write
    /// Write the line that tells what is missing here.
    case report(Tally<LogDropReason>)
    /// Give the output a chance to do what is due.
    case maintain
    /// Flush the output; then ``flushed(through:)``.
    case flush(through: UInt64)
    /// End.
    case stop
  }

  /// Waits for lines, and moves them to the batch, which is empty. Gives ``Step/maintain`` if none come before
  /// `maintenance`.
  func next(into batch: inout LineBuffer, maintenance: Instant) -> Step {
    var lingering: Instant?
    while true {
      let ticket = work.ticket
      let now = Instant.now
      let linger = lingering ?? now.advanced(by: limits.batchDelay)
      switch look(now: now, linger: linger, maintenance: maintenance, batch: &batch) {
      case .go(let step): return step
      case .wait(let deadline):
        if deadline == linger { lingering = linger }
        work.wait(past: ticket, until: deadline)
      }
    }
  }

  private enum Look {
    case go(Step)
    case wait(until: Instant)
  }

  private func look(
    now: Instant, linger: Instant, maintenance: Instant, batch: inout LineBuffer
  ) -> Look {
    state.withLock { state in
      state.inFlight = 0
      if case .draining(let deadline) = state.phase, now >= deadline { state.giveUp() }
      guard state.phase != .closed else { return .go(.stop) }
      if let dropped = state.takeReport() { return .go(.report(dropped)) }
      // Now, and not when no more lines come: a flush waits for those before it alone.
      if state.flushTarget > state.flushed, state.settled > state.flushed {
        return .go(.flush(through: state.settled))
      }
      guard state.lines.isEmpty else {
        if state.phase == .running, now < linger, state.flushTarget <= state.settled,
          !limits.isLarge(state.lines)
        {
          state.writer = .lingering
          return .wait(until: linger)
        }
        state.writer = .busy
        state.take(into: &batch)
        return .go(.write)
      }
      if state.phase == .running {
        guard now < maintenance else { return .go(.maintain) }
        state.writer = .idle
        return .wait(until: maintenance)
      }
      state.phase = .closed
      return .go(.stop)
    }
  }

  /// Counts what came of a write.
  func account(_ result: LogOutputResult) {
    state.withLock { state in
      state.statistics.writeErrors &+= result.state == .failed ? 1 : 0
      // Once given up, the lines of the batch have been counted as dropped.
      guard state.phase != .closed else { return }
      state.isFaulted = result.state == .failed
      state.statistics.written += result.written
      state.statistics.bytes &+= UInt64(max(0, result.bytes))
      if result.dropped > 0 { state.drop(.writeError, count: result.dropped) }
      let settled = result.written.total &+ result.dropped
      state.inFlight = state.inFlight > settled ? state.inFlight - settled : 0
    }
    progress.signal()
  }

  /// The output has been flushed, or has failed to.
  func flushed(through target: UInt64, successfully isSuccess: Bool) {
    state.withLock { state in
      state.flushed = max(state.flushed, target)
      if !isSuccess { state.statistics.writeErrors &+= 1 }
    }
    progress.signal()
  }

  /// Waits between two attempts at one batch, not past a shutdown's deadline. `false` if the batch is to be
  /// given up.
  func pause(for duration: Duration) -> Bool {
    let retry = Instant.now.advanced(by: duration)
    let ticket = work.ticket
    let deadline: Instant? = state.withLock { state in
      if case .draining(let deadline) = state.phase {
        if Instant.now < deadline { return min(retry, deadline) }
        state.giveUp()
      }
      return state.phase == .running ? retry : nil
    }
    guard let deadline else {
      progress.signal()
      return false
    }
    work.wait(past: ticket, until: deadline)
    return true
  }

  /// The writer has ended.
  func ended() {
    state.withLock { $0.phase = .ended }
    progress.signal()
  }
}
