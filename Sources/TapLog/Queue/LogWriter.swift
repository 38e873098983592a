import Synchronization
import TapCore

/// Writes the lines of a queue to an output, and counts what became of them. The queue refers to it, and so
/// not to the ``LogPlace``, whose release ends both.
final class LogWriter: Sendable {
  private struct State {
    /// What becomes of lines that come to the writer.
    enum Phase {
      /// They are written, until the deadline of a shutdown.
      case writing(until: Instant)
      /// They are dropped, since the deadline has passed.
      case dropping
      /// All were counted as dropped while the output was stuck, and count no more.
      case abandoned
      /// None comes any more.
      case closed(isWhole: Bool)

      var isWriting: Bool { if case .writing = self { true } else { false } }

      /// Whether no line has been dropped because of the deadline.
      var isWhole: Bool {
        switch self {
        case .writing: true
        case .dropping, .abandoned: false
        case .closed(let isWhole): isWhole
        }
      }
    }

    enum Step { case write(until: Instant), wait(until: Instant), drop }

    var phase = Phase.writing(until: .never)
    var statistics = LogStatistics()
    /// Lines of the queue that were written or dropped. A report is none of them.
    var ended: UInt64 = 0
    /// What has been dropped and not been reported by a line.
    var unreported: Tally<LogDropReason> = [:]
    /// What the report says that is the last line of the batch.
    var report: Tally<LogDropReason>?
    /// The last attempt failed: a queue that is full now is full because of that.
    var isFailing = false
    /// When to make the next one at the earliest.
    var nextAttempt = Instant(nanoseconds: 0)

    /// A line has to say how many are missing, as soon as lines can be written.
    var mustReport: Bool { unreported.total > 0 && phase.isWriting && !isFailing }

    mutating func drop(_ reason: LogDropReason, count: UInt64 = 1) {
      statistics.dropped[reason, default: 0] &+= count
      // There will be no line to report those that come after the end.
      if reason != .shutdown { unreported[reason, default: 0] &+= count }
    }

    /// Drops lines of the queue for good.
    mutating func giveUp(_ count: UInt64) {
      report = nil
      drop(isFailing ? .writeError : .shutdown, count: count)
      ended &+= count
    }

    /// What to do with a batch now.
    mutating func step(lines: Int, at now: Instant) -> Step {
      switch phase {
      case .writing(let deadline) where now < deadline:
        return nextAttempt <= now ? .write(until: deadline) : .wait(until: min(nextAttempt, deadline))
      case .writing, .dropping:
        phase = .dropping
        giveUp(UInt64(lines) &- (report == nil ? 0 : 1))
        return .drop
      case .abandoned, .closed: return .drop
      }
    }

    /// - Parameter isEmpty: Whether the last line of the batch was written or dropped.
    mutating func account(_ result: LogOutputResult, isEmpty: Bool) {
      isFailing = result.isFailed
      if isFailing { nextAttempt = .now.advanced(by: LogWriter.pause) }
      if case .abandoned = phase { return }
      statistics.written.merge(result.written, uniquingKeysWith: &+)
      statistics.bytes &+= UInt64(max(0, result.bytes))
      var dropped = result.dropped
      ended &+= result.written.total &+ dropped
      if isEmpty, let report = exchange(&report, with: nil) {
        ended &-= 1
        // What an output drops is before what it writes.
        if result.written.isEmpty {
          dropped &-= 1
          unreported.merge(report, uniquingKeysWith: &+)
        }
      }
      if dropped > 0 { drop(.writeError, count: dropped) }
    }
  }

  /// How long an output that fails is left alone.
  private static let pause = Duration.milliseconds(100)

  /// Locked by the one thread that writes, while it does.
  private let output: Mutex<any LogOutput>
  private let faults: LogFaults
  private let state = Mutex(State())

  init(to output: any LogOutput, _ faults: LogFaults) {
    self.faults = faults
    self.output = Mutex(output)
  }

  /// The counts, and how many lines of the queue have come to an end.
  var statistics: (LogStatistics, ended: UInt64) {
    var (statistics, ended) = state.withLock { ($0.statistics, $0.ended) }
    statistics.writeErrors = faults.count
    return (statistics, ended)
  }

  /// Once: a queue that could not start has a last turn, too.
  func close() {
    let isFirst = state.withLock { state in
      if case .closed = state.phase { return false }
      state.phase = .closed(isWhole: state.phase.isWhole)
      return true
    }
    if isFirst { output.withLock { $0.close() } }
  }

  /// Counts a line that the queue did not take.
  func drop(isClosed: Bool) {
    state.withLock { $0.drop(isClosed ? .shutdown : $0.isFailing ? .writeError : .queueFull) }
  }

  /// Sets until when lines are written, unless that has been set before.
  func setDeadline(_ deadline: Instant) {
    state.withLock { if case .writing(until: .never) = $0.phase { $0.phase = .writing(until: deadline) } }
  }

  /// Whether no line has been dropped because of the deadline.
  var isWhole: Bool { state.withLock { $0.phase.isWhole } }

  /// Drops all lines that have not come to an end of those that were added, while the worker is stuck.
  func abandon(_ added: UInt64) {
    state.withLock { state in
      switch state.phase {
      case .writing, .dropping:
        state.phase = .abandoned
        state.giveUp(added &- state.ended)
      case .abandoned, .closed: break
      }
    }
  }

  /// Writes a batch as far as the output takes it. Called by the queue's worker.
  func write(_ batch: inout LineBuffer, _ turn: inout QueueTurn) {
    if turn.isNew { report(in: &batch) }
    repeat {
      if let next = write(&batch) {
        turn.next = next
        return
      }
      // There is no further turn for it.
    } while turn.isLast && report(in: &batch)
    // Only a flush makes the lines durable. Without one they are not done, so that a later flush has a turn.
    turn.isDone = turn.isFlush
    if turn.isFlush, state.withLock({ $0.phase.isWriting }) { output.withLock { $0.flush() } }
    if turn.isLast {
      close()
    } else {
      turn.next = state.withLock { $0.mustReport } ? .now : output.withLock { $0.maintain(now: .now) }
    }
  }

  /// Gives when to go on, or `nil` when the batch is written or given up.
  private func write(_ batch: inout LineBuffer) -> Instant? {
    while !batch.isEmpty {
      let lines = batch.count
      switch state.withLock({ $0.step(lines: lines, at: .now) }) {
      case .drop: batch.removeAll()
      case .wait(let next): return next
      case .write(let deadline):
        let result = output.withLock { $0.write(&batch) }
        let isEmpty = batch.isEmpty
        state.withLock { $0.account(result, isEmpty: isEmpty) }
        if case .failed(let reason) = result.state { faults.failed(.lines, reason) }
        if isEmpty, !result.isFailed { faults.works(.lines) }
        // Not here: other threads wait for the end of the turn.
        if case .busy(let pause) = result.state { return min(.now.advanced(by: pause), deadline) }
      }
    }
    return nil
  }

  /// Appends a line that says how many lines are missing there, and why. `false` if none are.
  @discardableResult private func report(in batch: inout LineBuffer) -> Bool {
    let dropped = state.withLock { state -> Tally<LogDropReason>? in
      guard state.mustReport else { return nil }
      state.report = exchange(&state.unreported, with: [:])
      return state.report
    }
    guard let dropped else { return false }
    LineWriter.withLine { line in
      line.begin(.now, .warn, event: "session_tap.log.dropped")
      line.part { $0.member("dropped.total", dropped.total) }
      for reason in LogDropReason.allCases {
        guard let count = dropped[reason] else { continue }
        line.part { line in
          line.append(Array(",\"dropped.\(reason.rawValue)\":".utf8))
          line.integer(count)
        }
      }
    } _: {
      batch.append($0, severity: .warn)
    }
    return true
  }
}
