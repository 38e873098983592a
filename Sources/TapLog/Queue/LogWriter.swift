import Synchronization
import TapCore

/// Takes batches off the queue and writes them. Run by one thread at a time.
final class LogWriter: BackgroundJob {
  private struct State: ~Copyable {
    var batch: LineBuffer
    var report = LineBuffer(byteLimit: DropReport.capacity, lineLimit: 1)
    /// Until when to wait for more lines.
    var lingering: Instant?
    var attempts = Attempts()
  }

  /// The attempts at one batch.
  private struct Attempts {
    /// When to try again.
    var next: Instant?
    /// How long to wait after the next failure.
    var pause = LogWriter.shortestPause
  }

  /// How long to wait after a write that failed: doubled at each failure in a row, to the longest.
  private static let shortestPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(1)

  private let queue: LineQueue
  private let output: any LogOutput
  private let recentLines: RecentLines?
  private let state: Mutex<State>

  init(queue: LineQueue, output: any LogOutput, recentLines: RecentLines?) {
    self.queue = queue
    self.output = output
    self.recentLines = recentLines
    state = Mutex(
      State(batch: LineBuffer(byteLimit: queue.limits.bytes, lineLimit: queue.limits.lines)))
  }

  func run(at now: Instant) -> Instant? {
    state.withLock { state in
      while true {
        if let due = write(&state.report, &state.attempts) ?? write(&state.batch, &state.attempts) {
          return due
        }
        let step = queue.next(
          into: &state.batch, at: .now, lingering: &state.lingering,
          maintenance: output.maintain(now: .now))
        switch step {
        case .write: recentLines?.add(state.batch)
        case .report(let dropped):
          DropReport(dropped: dropped, time: .now).write(to: &state.report)
          recentLines?.add(state.report)
        case .maintain: break
        case .flush(let target): queue.flushed(through: target, successfully: output.flush())
        case .wait(let due): return due
        case .stop:
          output.close()
          recentLines?.finish()
          queue.ended()
          return nil
        }
      }
    }
  }

  /// Writes what it can. Gives when to try again, or `nil` when the batch is written or given up.
  private func write(_ batch: inout LineBuffer, _ attempts: inout Attempts) -> Instant? {
    while !batch.isEmpty {
      let now = Instant.now
      guard let due = queue.retry(at: attempts.next ?? now, now: now) else { break }
      if now < due { return due }
      let result = output.write(&batch)
      queue.account(result)
      switch result.state {
      case .ready: attempts = Attempts()
      case .busy(let pause): attempts.next = Instant.now.advanced(by: pause)
      case .failed:
        attempts.next = Instant.now.advanced(by: attempts.pause)
        attempts.pause = min(attempts.pause * 2, Self.longestPause)
      }
    }
    if !batch.isEmpty {
      batch.removeAll()
      attempts = Attempts()
    }
    return nil
  }
}
