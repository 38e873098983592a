import Synchronization
import TapCore

/// Writes the lines of a queue to an output, and counts what became of them.
final class LogWriter: Sendable {
  private struct State {
    var statistics = LogStatistics()
    /// Lines that report dropped ones.
    var reports: UInt64 = 0
    /// What the report says that is the last line of the batch.
    var pendingReport: Tally<LogDropReason>?
    /// Lines that have been written or dropped, reports included. The close counts as one.
    var ended: UInt64 = 0
    /// The last write failed: a queue that is full now is full because of that.
    var isFaulted = false
    /// What has been dropped and not been reported by a line.
    var unreported: Tally<LogDropReason> = [:]
    /// Until when lines are written. Later they are dropped.
    var deadline = Instant.never
    /// Lines have been dropped because of the deadline.
    var hasGivenUp = false
    /// All pending lines have been dropped, also those of the batch.
    var isAbandoned = false
    var isClosed = false
    /// When to try again after an attempt that wrote nothing.
    var nextAttempt = Instant(nanoseconds: 0)
    /// How long to wait after a failure: twice as long after each that follows within ten seconds, up to a
    /// second.
    var pause = Duration.zero
    var lastFailure = Instant(nanoseconds: 0)

    /// A line has to say how many are missing, as soon as lines can be written.
    var mustReport: Bool { unreported.total > 0 && !isFaulted && !hasGivenUp }

    mutating func drop(_ reason: LogDropReason, count: UInt64 = 1) {
      statistics.dropped[reason, default: 0] &+= count
      // There will be no line to report those that come after the end.
      if reason != .shutdown { unreported[reason, default: 0] &+= count }
    }

    /// Drops all pending lines for good. A report of dropped ones is none itself.
    mutating func giveUp(_ pending: UInt64) {
      hasGivenUp = true
      let reports: UInt64 = exchange(&pendingReport, with: nil) == nil ? 0 : 1
      drop(isFaulted ? .writeError : .shutdown, count: pending &- reports)
      ended &+= pending
    }

    /// - Parameter isEmpty: Whether the last line of the batch was written or dropped.
    mutating func account(_ result: LogOutputResult, isEmpty: Bool) {
      isFaulted = result.isFailed
      if isFaulted {
        let now = Instant.now
        let isAlone = lastFailure.duration(to: now) > .seconds(10)
        pause = isAlone ? .milliseconds(50) : min(pause * 2, .seconds(1))
        (lastFailure, nextAttempt) = (now, now.advanced(by: pause))
      }
      if isAbandoned { return }
      statistics.written.merge(result.written, uniquingKeysWith: &+)
      statistics.bytes &+= UInt64(max(0, result.bytes))
      ended &+= result.written.total &+ result.dropped
      var dropped = result.dropped
      // What an output drops is before what it writes.
      if isEmpty, let report = exchange(&pendingReport, with: nil), result.written.isEmpty {
        dropped &-= 1
        unreported.merge(report, uniquingKeysWith: &+)
      }
      if dropped > 0 { drop(.writeError, count: dropped) }
    }
  }

  /// Locked by the one thread that writes, while it does.
  private let output: Mutex<any LogOutput>
  private let faults: LogFaults
  let recentLines: RecentLines?
  private let state = Mutex(State())

  init(to output: any LogOutput, _ faults: LogFaults, recentLines: RecentLines? = nil) {
    (self.faults, self.recentLines) = (faults, recentLines)
    self.output = Mutex(output)
  }

  /// The counts, and how many lines of the queue have come to an end.
  var statistics: (LogStatistics, ended: UInt64) {
    var (statistics, ended) = state.withLock { ($0.statistics, $0.ended &- $0.reports) }
    statistics.writeErrors = faults.count
    return (statistics, ended)
  }

  /// Once: a queue that could not start has a last turn, too.
  func close() {
    let isFirst = state.withLock { state in
      guard !exchange(&state.isClosed, with: true) else { return false }
      if !state.isAbandoned { state.ended &+= 1 }
      return true
    }
    if isFirst { output.withLock { $0.close() } }
  }

  /// Counts a line that the queue did not take.
  func drop(isClosed: Bool) {
    state.withLock { $0.drop(isClosed ? .shutdown : $0.isFaulted ? .writeError : .queueFull) }
  }

  /// Sets until when lines are written, unless that has been set before.
  func setDeadline(_ deadline: Instant) {
    state.withLock { if $0.deadline == .never { $0.deadline = deadline } }
  }

  /// Lines have been dropped because they were not written by the deadline.
  var hasGivenUp: Bool { state.withLock { $0.hasGivenUp } }

  /// Nothing more is written.
  private var hasEnded: Bool { state.withLock { $0.hasGivenUp || $0.isClosed } }

  /// Drops all lines that are pending of those that were added, while the worker is stuck. The close counts
  /// as an element of the queue, and a report of dropped lines as none that is pending.
  func giveUp(_ added: UInt64) {
    state.withLock { state in
      if exchange(&state.isAbandoned, with: true) || state.isClosed { return }
      state.ended &+= 1
      state.giveUp(added &+ state.reports &- state.ended)
    }
  }

  /// Writes a batch as far as the output takes it. Called by the queue's worker.
  func write(_ batch: inout LineBuffer, _ turn: inout QueueTurn) {
    if turn.isNew {
      report(in: &batch)
      recentLines?.add(batch)
    }
    repeat {
      if let next = write(&batch) {
        turn.next = next
        return
      }
      // There is no further turn for it.
    } while turn.isLast && report(in: &batch)
    turn.isDone = turn.isFlush
    if turn.isFlush, !hasEnded { output.withLock { $0.flush() } }
    if turn.isLast {
      close()
    } else {
      turn.next = state.withLock { $0.mustReport } ? .now : output.withLock { $0.maintain(now: .now) }
    }
  }

  /// Gives when to go on, or `nil` when the batch is written or given up.
  private func write(_ batch: inout LineBuffer) -> Instant? {
    while !batch.isEmpty {
      let now = Instant.now
      let (due, deadline) = state.withLock { state in
        if now >= state.deadline, !state.isAbandoned {
          state.giveUp(UInt64(batch.count))
        }
        return (state.nextAttempt, state.hasGivenUp ? now : state.deadline)
      }
      if deadline <= now {
        batch.removeAll()
        break
      }
      if now < due { return min(due, deadline) }
      let result = output.withLock { $0.write(&batch) }
      state.withLock { $0.account(result, isEmpty: batch.isEmpty) }
      if case .failed(let reason) = result.state { faults.failed(.lines, reason) }
      if batch.isEmpty, !result.isFailed { faults.works(.lines) }
      // Not here: other threads wait for the end of the turn.
      if case .busy(let pause) = result.state { return min(.now.advanced(by: pause), deadline) }
    }
    return nil
  }

  /// Appends a line that says how many lines are missing at its place, and why. `false` if none are.
  @discardableResult private func report(in batch: inout LineBuffer) -> Bool {
    let dropped = state.withLock { state -> Tally<LogDropReason>? in
      guard state.mustReport else { return nil }
      state.reports &+= 1
      state.pendingReport = exchange(&state.unreported, with: [:])
      return state.pendingReport
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
