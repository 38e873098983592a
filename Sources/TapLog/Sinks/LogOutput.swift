import TapCore

/// Where a queue's lines go. Used by its worker alone.
protocol LogOutput: Sendable {
  /// Writes as much as it can in one call, and takes that off the batch.
  func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes written lines durable, if the log is configured so. `false` if that fails.
  func flush() -> Bool

  /// Does the work that is due, and returns when to call it again.
  func maintain(now: Instant) -> Instant

  /// Reopens the file at the next write, if there is one. Safe from any thread.
  func reopen()

  /// Releases its resources.
  func close()
}

extension LogOutput {
  func flush() -> Bool { true }

  func maintain(now: Instant) -> Instant { .never }

  func reopen() {}

  func close() {}
}

/// What came of one write to a ``LogOutput``.
struct LogOutputResult {
  var written = Tally<LogSeverity>()
  var bytes = 0
  /// Lines that the output dropped.
  var dropped: UInt64 = 0
  var state: State = .ready

  enum State: Equatable {
    /// The next write may follow at once.
    case ready
    /// Nothing was written, and nothing is wrong: try again after a pause.
    case busy(Duration)
    /// The write failed: wait, then try again.
    case failed
  }

  static func busy(_ pause: Duration) -> LogOutputResult { LogOutputResult(state: .busy(pause)) }
  static let failed = LogOutputResult(state: .failed)
}

/// Writes to a descriptor of the app or of the process, such as standard error. Its flags are not changed, and it is
/// never closed.
struct DescriptorOutput: LogOutput {
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

/// Takes all lines and writes none.
struct MemoryOutput: LogOutput {
  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    return LogOutputResult(written: batch.take(bytes), bytes: bytes)
  }
}

/// Gives the lines to a sink of the app's. What it refuses is dropped.
struct SinkOutput: LogOutput {
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

extension LineBuffer {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`: 4,096 on Linux, at least 512 elsewhere).
  private static let pieceLimit = 4_096
  /// How long to wait for a reader, in milliseconds.
  private static let readerTimeout: Int32 = 20

  /// Writes all lines to a file, or as many whole ones as `capacity` allows, in one call, and takes them off.
  ///
  /// A stream, which is a pipe, a socket or a terminal, gets whole lines up to `PIPE_BUF`, which do not mix with those of another
  /// process, and only when it has space: its descriptor may be a blocking one. If it fails within a longer line, the line's
  /// rest is dropped: it would be the first that the next reader gets.
  mutating func write(to descriptor: Int32, isStream: Bool, capacity: Int = .max) -> LogOutputResult {
    if isStream, !System.waitUntilWritable(descriptor, milliseconds: Self.readerTimeout) {
      return .busy(.zero)
    }
    let length = self.length(limit: isStream ? Self.pieceLimit : capacity)
    do throws(System.Failure) {
      let count = try withBytes { bytes throws(System.Failure) in
        try System.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), to: descriptor)
      }
      if count > 0 { return LogOutputResult(written: take(count), bytes: count) }
    } catch {
      guard error == .again else {
        guard isStream, takenOfFirst > 0 else { return .failed }
        removeFirst()
        return LogOutputResult(dropped: 1, state: .failed)
      }
    }
    // A terminal that has space may lack it for a newline, of which it makes two characters.
    return .busy(.milliseconds(Int64(Self.readerTimeout)))
  }
}
