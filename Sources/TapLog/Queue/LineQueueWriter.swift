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
    /// Nothing to do until then.
    case wait(until: Instant)
    /// End.
    case stop
  }

  /// What there is to do now. Moves lines to the batch, which is empty.
  ///
  /// - Parameters:
  ///   - lingering: Until when the writer waits for more lines, once it does.
  ///   - maintenance: When the output has something to do by itself.
  func next(
    into batch: inout LineBuffer, at now: Instant, lingering: inout Instant?, maintenance: Instant
  ) -> Step {
    let linger = lingering ?? now.advanced(by: limits.batchDelay)
    let step = look(now: now, linger: linger, maintenance: maintenance, batch: &batch)
    lingering = step == .wait(until: linger) ? linger : nil
    return step
  }

  private func look(
    now: Instant, linger: Instant, maintenance: Instant, batch: inout LineBuffer
  ) -> Step {
    state.withLock { state in
      state.inFlight = 0
      if case .draining(let deadline) = state.phase, now >= deadline { state.giveUp() }
      guard state.phase != .closed else { return .stop }
      if let dropped = state.takeReport() { return .report(dropped) }
      // Now, and not when no more lines come: a flush waits for those before it alone.
      if state.flushTarget > state.flushed, state.settled > state.flushed {
        return .flush(through: state.settled)
      }
      guard state.lines.isEmpty else {
        if state.phase == .running, now < linger, state.flushTarget <= state.settled, !state.isBatchWhole,
          !limits.isLarge(state.lines)
        {
          state.writer = .lingering
          return .wait(until: linger)
        }
        state.writer = .busy
        state.take(into: &batch)
        return .write
      }
      if state.phase == .running {
        guard now < maintenance else { return .maintain }
        state.writer = .idle
        return .wait(until: maintenance)
      }
      state.phase = .closed
      return .stop
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

  /// When to try again after an attempt at one batch, not past a shutdown's deadline. `nil` if the batch is to be given up.
  func retry(at instant: Instant, now: Instant) -> Instant? {
    let retry: Instant? = state.withLock { state in
      if case .draining(let deadline) = state.phase {
        if now < deadline { return min(instant, deadline) }
        state.giveUp()
      }
      return state.phase == .running ? instant : nil
    }
    if retry == nil { progress.signal() }
    return retry
  }

  /// The writer has ended.
  func ended() {
    state.withLock { $0.phase = .ended }
    progress.signal()
  }
}
