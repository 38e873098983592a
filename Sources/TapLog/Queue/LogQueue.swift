import Synchronization
import TapCore

/// The bounded queue between the threads that make lines and the one that writes them.
///
/// There are two buffers: lines go into one while the other is written, and they change places under the lock. No lock that a
/// maker of lines takes is held while bytes are written.
final class LogQueue: FlushedAtExit {
  let output: any LogOutput
  let recentLines: RecentLines?
  private let state = Mutex(State())
  /// What the worker alone uses.
  private let writing = Mutex(Writing())
  /// Wakes the threads that wait in a flush or a shutdown.
  private let progress = EventCount()
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

  func flushAtExit(within limit: Duration) { _ = flush(until: Instant.now.advanced(by: limit)) }

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

  private func waitForProgress(until deadline: Instant, answer: (borrowing State) -> Bool?) -> Bool {
    while true {
      let ticket = progress.ticket
      if let result = state.withLock({ answer($0) }) { return result }
      if !progress.wait(past: ticket, until: deadline) { return state.withLock { answer($0) } ?? false }
    }
  }
}

// MARK: - The worker

extension LogQueue: BackgroundJob {
  private struct Writing {
    var batch = LineBuffer()
    /// When to try again after an attempt that wrote nothing.
    var nextAttempt = Instant(nanoseconds: 0)
    /// How long to wait after the next failure: doubled at each failure in a row, up to a second.
    var pause = Self.shortestPause

    static let shortestPause = Duration.milliseconds(50)
  }

  /// Writes the lines that there are, as far as the output takes them.
  func run(at now: Instant) -> Instant? {
    writing.withLock { writing in
      let isNew = writing.batch.isEmpty
      if isNew {
        if let dropped = state.withLock({ $0.take(into: &writing.batch) }) {
          report(dropped, in: &writing.batch)
        }
        recentLines?.add(writing.batch)
      }
      if let due = write(&writing) { return due }
      if let target = state.withLock({ $0.dueFlush }) { flush(through: target) }
      let (phase, hasReport) = state.withLock { ($0.settle(), $0.hasReport) }
      switch phase {
      // Lines that came behind a batch that had to wait have asked for a turn that only tried it again.
      case .running, .draining: return isNew && !hasReport ? output.maintain(now: now) : now
      case .closed:
        output.close()
        state.withLock { $0.phase = .ended }
        progress.signal()
        return nil
      case .ended: return nil
      }
    }
  }

  /// A line says how many lines are missing at its place, and why.
  private func report(_ dropped: Tally<LogDropReason>, in batch: inout LineBuffer) {
    LineWriter.withLine(of: Timestamp.now) { time, line in
      line.begin(time, .warn, event: "session_tap.log.dropped")
      line.part { $0.member("dropped", dropped.total) }
      for reason in LogDropReason.allCases where dropped[reason] > 0 {
        line.part { line in
          line.append(Array(",\"dropped.\(reason.text)\":".utf8))
          line.integer(dropped[reason])
        }
      }
    } _: {
      batch.append($0, severity: .warn)
    }
  }

  /// Gives when to go on, or `nil` when the batch is written or given up.
  private func write(_ writing: inout Writing) -> Instant? {
    while !writing.batch.isEmpty {
      let now = Instant.now
      guard let deadline = state.withLock({ $0.deadline(at: now) }) else {
        writing.batch.removeAll()
        break
      }
      if now < writing.nextAttempt { return min(writing.nextAttempt, deadline) }
      let result = output.write(&writing.batch)
      state.withLock { $0.account(result) }
      switch result.state {
      case .ready: writing.pause = Writing.shortestPause
      // Not here: the worker's other jobs are not to wait for a reader.
      case .busy(let pause): return min(.now.advanced(by: pause), deadline)
      case .failed:
        writing.nextAttempt = .now.advanced(by: writing.pause)
        writing.pause = min(writing.pause * 2, .seconds(1))
      }
    }
    return nil
  }

  private func flush(through target: UInt64) {
    let isFlushed = output.flush()
    state.withLock { state in
      state.flushed = max(state.flushed, target)
      if !isFlushed { state.statistics.writeErrors &+= 1 }
    }
    progress.signal()
  }
}

// MARK: - State

extension LogQueue {
  private enum Phase: Equatable {
    case running
    /// Takes nothing in any more, and writes what it has until the deadline.
    case draining(until: Instant)
    /// Nothing more will be written; the worker may still be in its last call.
    case closed
    /// The worker has ended, and given up the file.
    case ended
  }

  private struct State {
    var lines = LineBuffer()
    var phase = Phase.running
    /// The worker has been asked to come for the lines.
    var isWorkerAsked = false
    /// The last write failed: a queue that is full now is full because of that.
    var isFaulted = false
    /// Lines ever taken in, and how many of them have been written or dropped since. The oldest come first.
    var accepted: UInt64 = 0
    var settled: UInt64 = 0
    /// Lines up to here are asked to be flushed, and have been.
    var flushTarget: UInt64 = 0
    var flushed: UInt64 = 0
    var statistics = LogStatistics()
    /// What has been dropped and not been reported by a line.
    private var unreported = Tally<LogDropReason>()
    /// The place of the last report among the lines taken in.
    private var report: UInt64 = 0

    var hasReport: Bool { unreported.total > 0 && !isFaulted }

    /// The number of the last line that is to be flushed now.
    var dueFlush: UInt64? {
      if phase == .closed || phase == .ended { return nil }
      return settled > flushed && (flushTarget > flushed || phase != .running) ? settled : nil
    }

    mutating func drop(_ reason: LogDropReason, count: UInt64 = 1) {
      statistics.dropped[reason] &+= count
      // There will be no line to report those that come after the end.
      if reason != .shutdown { unreported[reason] &+= count }
    }

    /// Gives the worker all lines by an exchange of buffers, and what is to be reported behind them: when lines were dropped, these
    /// filled the queue. The report counts as a line taken in.
    mutating func take(into batch: inout LineBuffer) -> Tally<LogDropReason>? {
      isWorkerAsked = false
      swap(&lines, &batch)
      guard hasReport else { return nil }
      accepted &+= 1
      report = accepted
      defer { unreported = Tally() }
      return unreported
    }

    /// Until when the worker may try to write, or `nil` if what is pending has been given up.
    mutating func deadline(at now: Instant) -> Instant? {
      switch phase {
      case .running: return .never
      case .draining(let deadline):
        if now < deadline { return deadline }
        giveUp()
        return nil
      case .closed, .ended: return nil
      }
    }

    /// Drops all that is pending, for good. A report of dropped lines does not count as a line.
    mutating func giveUp() {
      let pending = accepted &- settled &- (report > settled ? 1 : 0)
      drop(isFaulted ? .writeError : .shutdown, count: pending)
      settled = accepted
      lines.removeAll()
      phase = .closed
    }

    mutating func account(_ result: LogOutputResult) {
      if result.state == .failed { statistics.writeErrors &+= 1 }
      // Once given up, the lines of the batch have been counted as dropped.
      if phase == .closed { return }
      isFaulted = result.state == .failed
      statistics.written += result.written
      statistics.bytes &+= UInt64(max(0, result.bytes))
      if result.dropped > 0 { drop(.writeError, count: result.dropped) }
      settled &+= result.written.total &+ result.dropped
    }

    /// The phase after a batch. One that drains ends when all has been written and reported.
    mutating func settle() -> Phase {
      if case .draining = phase, !hasReport, lines.isEmpty { phase = .closed }
      return phase
    }
  }
}
