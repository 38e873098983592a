/// What the writer thread writes to. Used by that thread alone.
protocol LogOutput: Sendable {
  /// Writes what it can in one call, and takes that off the batch.
  func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes what has been written durable.
  func flush()

  /// Gives up what it holds.
  func close()
}

/// What came of one write.
struct LogOutputResult {
  var written = Tally<LogSeverity>()
  var bytes = 0
  /// Lines that the output itself had to give up.
  var dropped: UInt64 = 0
  var state: State = .ready

  enum State: Equatable {
    /// Go on at once.
    case ready
    /// The descriptor takes nothing now; the output has already waited a moment for it.
    case busy
    /// The write failed: wait, then try again.
    case failed
  }

  static let busy = LogOutputResult(state: .busy)
  static let failed = LogOutputResult(state: .failed)
}
