/// A destination for log lines of the app's own making: a socket, a message queue, a test's array.
///
/// The log has one writer thread, and calls all of these on it, never two at a time. A sink may block that
/// thread: the queue then fills and the log drops by its policy, but no request waits. Past the deadline of
/// ``RequestLog/shutdown(within:)`` the thread is left behind. A sink may give the log lines, but must not flush it or shut
/// it down: it would wait for itself until the deadline.
public protocol LogSink: Sendable {
  /// Takes one or more whole lines, UTF-8, each ended by a newline. The memory is valid during the call only.
  ///
  /// If this throws, the lines are dropped and counted (``LogDropReason/writeError``): the log cannot know what
  /// of them went out.
  func write(_ lines: UnsafeRawBufferPointer) throws

  /// Makes what has been written durable. Called by a flush. Does nothing by default.
  func flush() throws

  /// The log is shut down; nothing follows. Does nothing by default.
  func close()
}

extension LogSink {
  /// Does nothing.
  public func flush() throws {}

  /// Does nothing.
  public func close() {}
}

/// The sink of a log that keeps its lines in memory only.
struct MemorySink: LogSink {
  func write(_ lines: UnsafeRawBufferPointer) {}
}

/// Writes to a sink of the app.
struct SinkOutput: LogOutput {
  let sink: any LogSink

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let lines = batch.pieces.0
    var result = LogOutputResult()
    var taken = Tally<LogSeverity>()
    do {
      try sink.write(lines)
      batch.consume(lines.count, into: &taken)
      result.written = taken
      result.bytes = lines.count
    } catch {
      batch.consume(lines.count, into: &taken)
      result.dropped = taken.total
      result.state = .failed
    }
    return result
  }

  func flush() -> Bool { (try? sink.flush()) != nil }

  func close() { sink.close() }
}
