import TapCore

extension RequestLog {
  /// Where a log goes.
  public struct Destination: Sendable {
    /// What distinguishes it from others: the path, or the kind.
    package let name: String
    /// Whether rotation has an effect.
    package var isFile = false
    let makeOutput: @Sendable (Configuration) throws(RequestLogError) -> any LogOutput

    /// Appends to a file, which is made if it does not exist; its directory must exist. Lines are written
    /// whole (`O_APPEND`, one call per batch), so that two processes may share a file.
    ///
    /// The path may be a FIFO, whose reader may come later while lines wait, or a character device such as
    /// `/dev/null`. The start refuses directories, Unix sockets and block devices.
    public static func file(_ path: String) -> Destination {
      Destination(name: path, isFile: true) { configuration throws(RequestLogError) in
        try FileOutput(path, configuration)
      }
    }

    /// Standard output, as containers collect it. If it is closed, the log does not start.
    public static var standardOutput: Destination { .descriptor(1) }

    /// Standard error. If it is closed, the log does not start.
    public static var standardError: Destination { .descriptor(2) }

    /// A descriptor of a file, a pipe or a connected socket, which the app has opened for writing and keeps
    /// open. The log does not close it.
    public static func descriptor(_ descriptor: Int32) -> Destination {
      Destination(name: "descriptor \(descriptor)") { _ throws(RequestLogError) in
        try DescriptorOutput(descriptor)
      }
    }

    /// Keeps lines in memory only, as many as ``Configuration/recentLineLimit`` says.
    public static var memory: Destination {
      Destination(name: "memory") { _ throws(RequestLogError) in MemoryOutput() }
    }

    /// A sink of the app's own.
    public static func custom(_ sink: some LogSink) -> Destination {
      Destination(name: "custom") { _ throws(RequestLogError) in SinkOutput(sink: sink) }
    }
  }
}

/// Writes to a descriptor of the app or of the process, such as standard error. It is never closed nor changed.
private struct DescriptorOutput: LogOutput {
  private let descriptor: Int32

  init(_ descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw RequestLogError(
        code: .cannotOpen,
        description:
          "cannot write the log to descriptor \(descriptor): \(error.text); open it for writing, and keep it open"
      )
    }
    self.descriptor = descriptor
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    guard let status = try? System.status(ofDescriptor: descriptor) else { return .failed }
    return batch.write(to: descriptor, isStream: status.kind != .regular)
  }
}

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
