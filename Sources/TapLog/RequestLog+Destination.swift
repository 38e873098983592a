import TapCore

extension RequestLog {
  /// Where a log goes.
  public struct Destination: Sendable {
    let makeOutput: @Sendable (Configuration) throws(RequestLogError) -> any LogOutput
    /// Code of the app's takes the lines, which may block its thread.
    private(set) var isCustom = false

    /// Appends to a file, made if it is not there; its directory has to be. Lines are written whole (`O_APPEND`, one
    /// call a batch), so that two processes may share a file.
    ///
    /// A FIFO may stand in place of the file: its reader may come later, and lines wait for it. Character devices such as
    /// `/dev/null` may, too; directories, Unix sockets and block devices are refused when the log starts.
    public static func file(_ path: String) -> Destination {
      Destination { configuration throws(RequestLogError) in
        try FileOutput(path, configuration)
      }
    }

    /// Standard output, as containers have it. Where it is closed, the log does not start.
    public static var standardOutput: Destination { .descriptor(1) }

    /// Standard error. Where it is closed, the log does not start.
    public static var standardError: Destination { .descriptor(2) }

    /// A descriptor that the app has opened for writing and keeps open: of a file, a pipe, a connected socket. The log does
    /// not close it.
    public static func descriptor(_ descriptor: Int32) -> Destination {
      Destination { _ throws(RequestLogError) in try DescriptorOutput(descriptor) }
    }

    /// Nowhere: lines are kept in memory alone, as many as ``Configuration/recentLineLimit`` says.
    public static var memory: Destination {
      Destination { _ throws(RequestLogError) in MemoryOutput() }
    }

    /// A sink of the app's own.
    public static func custom(_ sink: some LogSink) -> Destination {
      var destination = Destination { _ throws(RequestLogError) in SinkOutput(sink: sink) }
      destination.isCustom = true
      return destination
    }
  }
}

/// Takes all lines and writes none.
private struct MemoryOutput: LogOutput {
  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    return LogOutputResult(written: batch.take(bytes), bytes: bytes)
  }
}

/// Gives the lines to a sink of the app's. What it refuses is dropped.
private struct SinkOutput: LogOutput {
  let sink: any LogSink

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    let isTaken = (try? batch.withBytes { lines in try sink.write(lines) }) != nil
    let lines = batch.take(bytes)
    return isTaken
      ? LogOutputResult(written: lines, bytes: bytes) : LogOutputResult(dropped: lines.total, state: .failed)
  }

  func flush() -> Bool { (try? sink.flush()) != nil }

  func close() { sink.close() }
}
