import TapCore

/// The body of the writer thread: takes batches off the queue and writes them, for as long as it takes.
struct LogWriter: Sendable {
  let queue: LineQueue
  let output: any LogOutput
  let recentLines: RecentLines?

  /// How long to wait after a write that failed: doubled at each failure in a row, to the longest.
  private static let shortestPause = Duration.milliseconds(50)
  private static let longestPause = Duration.seconds(1)

  func run() {
    var batch = LineBuffer(byteLimit: queue.limits.bytes, lineLimit: queue.limits.lines)
    var report = LineBuffer(byteLimit: DropReport.capacity, lineLimit: 1)
    while true {
      switch queue.next(into: &batch, maintenance: output.maintain(now: Instant.now)) {
      case .write:
        recentLines?.add(batch)
        write(&batch)
      case .report(let dropped):
        DropReport(dropped: dropped, time: .now).write(to: &report)
        recentLines?.add(report)
        write(&report)
      case .maintain: continue
      case .flush(let target):
        queue.flushed(through: target, successfully: output.flush())
      case .stop:
        output.close()
        recentLines?.finish()
        return queue.ended()
      }
    }
  }

  private func write(_ batch: inout LineBuffer) {
    var pause = Self.shortestPause
    while !batch.isEmpty {
      let result = output.write(&batch)
      queue.account(result)
      switch result.state {
      case .ready:
        pause = Self.shortestPause
        if batch.isEmpty || queue.pause(for: .zero) { continue }
      case .busy(let pause):
        if queue.pause(for: pause) { continue }
      case .failed:
        if queue.pause(for: pause) {
          pause = min(pause * 2, Self.longestPause)
          continue
        }
      }
      batch.removeAll()
    }
  }
}
