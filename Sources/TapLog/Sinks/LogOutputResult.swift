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
    /// Nothing went, and nothing is wrong: try again after a while.
    case busy(Duration)
    /// The write failed: wait, then try again.
    case failed
  }

  static func busy(_ pause: Duration) -> LogOutputResult { LogOutputResult(state: .busy(pause)) }
  static let failed = LogOutputResult(state: .failed)
}
