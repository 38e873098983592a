import Synchronization
import TapCore

extension LogQueue {
  struct Writing {
    var batch = LineBuffer()
    /// When to try again after an attempt that wrote nothing.
    var nextAttempt = Instant(nanoseconds: 0)
    /// How long to wait after the next failure: doubled at each failure in a row.
    var pause = LogQueue.shortestPause
  }

  private static let shortestPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(1)
}

extension LogQueue: BackgroundJob {
  /// Writes the lines that there are, as far as the output takes them.
  func run(at now: Instant) -> Instant? {
    writing.withLock { writing in
      let isNew = writing.batch.isEmpty
      if isNew { take(into: &writing.batch) }
      if let due = write(&writing) { return due }
      while true {
        switch state.withLock({ $0.next() }) {
        case .flush(let target): flush(through: target)
        case .write: return now
        // Lines that came behind a batch that had to wait have asked for a turn that only tried it again.
        case .rest: return isNew ? output.maintain(now: now) : now
        case .close:
          output.close()
          state.withLock { $0.phase = .ended }
          progress.signal()
        case .end: return nil
        }
      }
    }
  }

  private func take(into batch: inout LineBuffer) {
    if let dropped = state.withLock({ $0.take(into: &batch) }) { report(dropped, in: &batch) }
    recentLines?.add(batch)
  }

  /// A line says how many lines are missing at its place, and why.
  private func report(_ dropped: Tally<LogDropReason>, in batch: inout LineBuffer) {
    LineWriter.withLine(of: Timestamp.now) { time, line in
      line.begin(time, .warn, event: "session_tap.log.dropped")
      line.part { $0.member("dropped", Int64(clamping: dropped.total)) }
      for reason in LogDropReason.allCases where dropped[reason] > 0 {
        line.part { json in
          json.append(text: ",\"dropped.\(reason.text)\":")
          json.integer(dropped[reason])
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
      case .ready: writing.pause = Self.shortestPause
      // Not here: the worker's other jobs are not to wait for a reader.
      case .busy(let pause): return min(.now.advanced(by: pause), deadline)
      case .failed:
        writing.nextAttempt = .now.advanced(by: writing.pause)
        writing.pause = min(writing.pause * 2, Self.longestPause)
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
