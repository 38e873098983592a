import TapCore

/// Where a queue's lines go. Used by one thread at a time.
protocol LogOutput: Sendable {
  /// Writes as much as it can in one call, and takes that off the batch.
  mutating func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes written lines durable, if the log is configured so.
  mutating func flush()

  /// Does the work that is due, and returns when to call it again.
  mutating func maintain(now: Instant) -> Instant

  mutating func close()
}

extension LogOutput {
  func flush() {}

  func maintain(now: Instant) -> Instant { .never }

  func close() {}
}

/// The result of one write to a ``LogOutput``.
struct LogOutputResult: Equatable {
  var written: Tally<LogSeverity> = [:]
  var bytes = 0
  var dropped: UInt64 = 0
  var state: State = .ready

  enum State: Equatable {
    /// The next write may follow at once.
    case ready
    /// Nothing was written, and nothing is wrong: try again after a pause.
    case busy(Duration)
    /// The write failed, for a reason: wait, then try again.
    case failed(String)
  }

  var isFailed: Bool { if case .failed = state { true } else { false } }

  static func busy(_ pause: Duration) -> LogOutputResult { LogOutputResult(state: .busy(pause)) }
  static func failed(_ reason: String) -> LogOutputResult { LogOutputResult(state: .failed(reason)) }
}

extension LineBuffer {
  /// The bytes that a pipe takes as one piece (POSIX, `PIPE_BUF`: 4,096 on Linux, at least 512 elsewhere).
  private static let pieceLimit = 4_096
  /// How long to wait for a reader, in milliseconds.
  private static let readerTimeout: Int32 = 20

  /// Writes all lines to a file, or as many whole ones as `capacity` allows, in one call, and takes them off.
  ///
  /// A stream (a pipe, a socket or a terminal) gets whole lines up to `PIPE_BUF`, which do not mix with those
  /// of another process, and only when it has room, since its descriptor may be a blocking one. If it fails
  /// inside a longer line, the rest of that line is dropped: the next reader would begin with it.
  mutating func write(
    to descriptor: Int32, _ path: String? = nil, isStream: Bool, capacity: Int = .max
  ) -> LogOutputResult {
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
        let reason = path.map { RequestLogError.advice(on: error, path: $0) } ?? error.text
        guard isStream, takenOfFirst > 0 else { return .failed(reason) }
        removeFirst()
        return LogOutputResult(dropped: 1, state: .failed(reason))
      }
    }
    // A terminal that has space may lack it for a newline, of which it makes two characters.
    return .busy(.milliseconds(Int64(Self.readerTimeout)))
  }
}
