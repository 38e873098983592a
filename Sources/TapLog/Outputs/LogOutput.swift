import TapCore

/// Where a queue's lines go. Used by one thread at a time.
protocol LogOutput: Sendable {
  /// The file, pipe or device that it leads to. `nil` for what is none.
  var identity: System.FileStatus? { get }

  /// Writes as much as it can in one call, and takes that off the batch.
  mutating func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes written lines durable, if the log is configured so.
  mutating func flush()

  /// Does the work that is due, and returns when to call it again.
  mutating func maintain(now: Instant) -> Instant

  mutating func close()
}

extension LogOutput {
  var identity: System.FileStatus? { nil }

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

/// Keeps lines in memory only, where the writer has put them.
struct MemoryOutput: LogOutput {
  func write(_ batch: inout LineBuffer) -> LogOutputResult {
    let bytes = batch.byteCount
    return LogOutputResult(written: batch.take(bytes), bytes: bytes)
  }
}
