import TapCore

/// The destination of the writer thread. Used by that thread alone.
protocol LogOutput: Sendable {
  /// Writes as much as it can in one call, and removes that from the batch.
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
  func maintain(now: Instant) -> Instant { .never }

  func reopen() {}
}

/// The result of one write.
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

  init(descriptor: Int32) throws(RequestLogError) {
    do {
      try System.checkWritable(descriptor)
    } catch {
      throw .cannotWrite(descriptor: descriptor, error)
    }
    self.descriptor = descriptor
  }

  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    guard let status = try? System.status(ofDescriptor: descriptor) else { return .failed }
    return DescriptorWrite.write(&batch, to: descriptor, isPipe: status.kind != .regular)
  }

  func flush() -> Bool { true }

  func close() {}
}

/// One write of a batch to a descriptor.
enum DescriptorWrite {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`: 4,096 on Linux, at least 512 elsewhere).
  private static let pipeLimit = 4_096
  /// How long to wait for a full pipe, in milliseconds.
  private static let pipeTimeout: Int32 = 20
  private static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  /// Writes all of the batch to a file, or as many whole lines as `capacity` allows, in one call. A pipe gets whole
  /// lines up to `PIPE_BUF`, which do not mix with those of another process, and only when it has space: its
  /// descriptor may be a blocking one.
  static func write(
    _ batch: inout LineBuffer, to descriptor: Int32, isPipe: Bool, capacity: Int = .max
  ) -> LogOutputResult {
    if isPipe, !System.waitUntilWritable(descriptor, milliseconds: pipeTimeout) { return .busy(.zero) }
    let limit = isPipe ? pipeLimit : capacity
    let pieces = batch.byteCount <= limit ? batch.pieces : (batch.prefix(limit), Self.nothing)
    do {
      var result = LogOutputResult()
      result.bytes = try System.write(pieces.0, pieces.1, to: descriptor)
      batch.consume(result.bytes, into: &result.written)
      return result
    } catch {
      return error == .again ? .busy(.zero) : .failed
    }
  }
}
