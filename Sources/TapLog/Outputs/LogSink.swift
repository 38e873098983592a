/// An app's own destination for log lines: a socket, a message queue, a test's array.
///
/// The log's own thread calls a sink, one call at a time. A sink may block that thread: the queue then fills,
/// and lines that do not fit are dropped and counted. ``RequestLog/shutdown(within:)`` abandons the thread
/// after its deadline. A sink may log lines, but not flush the log, which would wait for itself, nor shut it
/// down.
public protocol LogSink: Sendable {
  /// Takes one or more whole lines in UTF-8, each with its newline. The memory is valid only during the call.
  ///
  /// If this throws, the lines are dropped and counted as a write error, because some may be written.
  func write(_ lines: UnsafeRawBufferPointer) throws

  /// Makes the written lines durable. A flush calls it. Does nothing by default.
  func flush() throws

  /// Called last, when the log shuts down. Does nothing by default.
  func close()
}

extension LogSink {
  /// Does nothing.
  public func flush() throws {}

  /// Does nothing.
  public func close() {}
}

/// Gives the lines to a sink of the app's. What it refuses is dropped.
struct SinkOutput: LogOutput {
  let sink: any LogSink
  let faults: LogFaults

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    do {
      try batch.withBytes { lines in try sink.write(lines) }
      return LogOutputResult(written: batch.take(bytes), bytes: bytes)
    } catch {
      return LogOutputResult(dropped: batch.take(bytes).total, state: .failed("\(error)"))
    }
  }

  func flush() { faults.attempt(.synchronization) { try sink.flush() } }

  func close() { sink.close() }
}
