import TapCore

/// Where a queue's lines go. Used by its worker alone.
protocol LogOutput: Sendable {
  /// Writes as much as it can in one call, and takes that off the batch.
  func write(_ batch: inout LineBuffer) -> LogOutputResult

  /// Makes written lines durable, if the log is configured so. `false` if that fails.
  func flush() -> Bool

  /// Does the work that is due, and returns when to call it again.
  func maintain(now: Instant) -> Instant

  func close()
}

extension LogOutput {
  func flush() -> Bool { true }

  func maintain(now: Instant) -> Instant { .never }

  func close() {}
}
