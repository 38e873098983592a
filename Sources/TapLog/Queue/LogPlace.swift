import TapCore

/// One of the places where the lines of a log go, with a queue and a thread of its own: one that hangs keeps
/// no line from the others.
final class LogPlace: Sendable {
  private let writer: LogWriter
  private let lines: BoundedQueue<LineBuffer>
  private let limits: (bytes: Int, lines: Int)

  init(
    to output: any LogOutput, _ faults: LogFaults, _ configuration: RequestLog.Configuration
  ) throws(RequestLogError) {
    writer = LogWriter(to: output, faults)
    limits = (max(32_768, configuration.queueByteLimit), max(1, configuration.queueLineLimit))
    lines = BoundedQueue { [writer] in writer.write(&$0, &$1) }
    do {
      // So that a system that gives no thread is noticed.
      try lines.start()
    } catch {
      writer.close()
      throw RequestLogError(
        code: .cannotStartWriter,
        description:
          "cannot start the log's writer thread: \(error); raise the limit of threads (ulimit -u)")
    }
    ExitFlush.add(lines)
  }

  deinit {
    // A flush is no longer possible; the writer gets some time by itself.
    beginShutdown(until: Instant.now.advanced(by: .seconds(5)))
  }

  func wake() { lines.wake() }

  func wakeIfRefused() { lines.wakeIfRefused() }

  /// Puts a line into the buffer, newline included, or drops one and counts it.
  func enqueue(_ line: UnsafeRawBufferPointer, severity: LogSeverity) {
    let fill = lines.add { $0.append(line, severity: severity, limits: limits) }
    guard fill == .full || fill == .closed else { return }
    writer.drop(isClosed: fill == .closed)
    // The writer reports it.
    if fill == .full { lines.wake(by: .nextTick) }
  }

  var statistics: LogStatistics {
    // Before those that were added: a line is added before it ends.
    var (statistics, ended) = writer.statistics
    statistics.pending = lines.addedCount &- ended
    return statistics
  }

  /// `false` if not all lines were written by the deadline.
  func flush(until deadline: Instant) -> Bool { lines.flush(until: deadline) && writer.isWhole }

  /// Takes no more lines; the writer ends when all are written, or at the deadline.
  func beginShutdown(until deadline: Instant) {
    lines.close()
    writer.setDeadline(deadline)
    lines.wake()
  }

  /// Waits for the end that ``beginShutdown(until:)`` began. `false` if lines were dropped at the deadline.
  func endShutdown(by deadline: Instant) -> Bool {
    if flush(until: deadline) { return true }
    // The writer may be in a call that does not return.
    writer.abandon(lines.addedCount)
    lines.abandon()
    return false
  }
}
