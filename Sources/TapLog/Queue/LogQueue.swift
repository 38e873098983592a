import TapCore

/// The bounded queue between the threads that make lines and the one that writes them.
final class LogQueue: Sendable {
  let writer: LogWriter
  private let lines: BoundedQueue<LineBuffer>
  /// A line that finds the queue full is dropped and counted.
  private let limits: (bytes: Int, lines: Int)

  init(_ writer: LogWriter, limits: (bytes: Int, lines: Int), flushesAtExit: Bool = false) {
    self.writer = writer
    self.limits = limits
    lines = BoundedQueue { writer.write(&$0, &$1) }
    if flushesAtExit { ExitFlush.add(lines) }
  }

  /// Has the worker run once, so that a system that gives no thread is noticed.
  func start() throws(System.Failure) { try lines.start() }

  var statistics: LogStatistics {
    // These first: a line is added before it is settled.
    var (statistics, settled) = writer.statistics
    statistics.pending = lines.addedCount &- settled
    return statistics
  }

  /// Adds a line, newline included, or drops one and counts it.
  func append(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    let fill = lines.add { $0.append(line, severity: severity, limits: limits) }
    guard fill == .full || fill == .closed else { return }
    writer.drop(isClosed: fill == .closed)
    // The worker reports it.
    if fill == .full { lines.wake(by: .nextTick) }
  }

  /// Has the worker write what there is, without waiting for it.
  func wake() { lines.wake() }

  /// Waits until all lines that came before are written and flushed, or dropped. `false` if the deadline came first.
  func flush(until deadline: Instant) -> Bool { lines.flush(until: deadline) && !writer.isGivenUp }

  /// Takes no more lines, lets the worker write what there is, and waits for it to end. What is not written at
  /// the deadline, or at that of another shutdown, is dropped. `false` if that is so.
  func shutdown(until deadline: Instant) -> Bool {
    beginShutdown(until: deadline)
    if flush(until: deadline) { return true }
    writer.giveUp(lines.addedCount)
    lines.abandon()
    return false
  }

  /// Takes no more lines; the worker ends when all are written, or at the deadline.
  func beginShutdown(until deadline: Instant) {
    lines.close()
    writer.setDeadline(deadline)
    lines.wake()
  }
}
