import TapCore

extension LogQueue {
  struct State {
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
  }

  enum Phase: Equatable {
    case running
    /// Takes nothing in any more, and writes what it has until the deadline.
    case draining(until: Instant)
    /// Nothing more will be written; the worker may still be in its last call.
    case closed
    /// The worker has ended, and given up the file.
    case ended
  }

  enum Step: Equatable {
    /// Flush the output; the lines up to there are flushed then.
    case flush(through: UInt64)
    /// Take another batch.
    case write
    /// Wait to be asked.
    case rest
    /// Close the output.
    case close
    case end
  }
}

extension LogQueue.State {
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

  private var hasReport: Bool { unreported.total > 0 && !isFaulted }

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

  mutating func next() -> LogQueue.Step {
    if phase == .closed { return .close }
    if phase == .ended { return .end }
    let isRunning = phase == .running
    if flushTarget > flushed || !isRunning, settled > flushed { return .flush(through: settled) }
    if hasReport { return .write }
    guard !isRunning, lines.isEmpty else { return .rest }
    phase = .closed
    return .close
  }
}
