/// What came of one write to a ``LogOutput``.
struct LogOutputResult {
  var written: Tally<LogSeverity> = [:]
  var bytes = 0
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
