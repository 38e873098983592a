import TapCore

/// What the writer thread writes to. Used by that thread alone.
protocol LogOutput: Sendable {
  /// Writes what it can in one call, and takes that off the batch.
  func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes what has been written durable, as far as the log was asked to. `false` if that failed.
  func flush() -> Bool

  /// Does what is due by now, and says when to ask again.
  func maintain(now: Instant) -> Instant

  /// Opens anew what can be opened, at the next write. Safe from any thread.
  func reopen()

  /// Gives up what it holds.
  func close()
}

extension LogOutput {
  func maintain(now: Instant) -> Instant { .never }

  func reopen() {}
}
