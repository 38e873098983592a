/// What bounds the queue, and what happens at the bound.
struct QueueLimits: Sendable {
  var bytes: Int
  var lines: Int
  var whenFull: RequestLog.FullQueuePolicy
  /// How long the first line of a batch waits for others.
  var batchDelay: Duration

  /// Whether a batch does not wait for more: callers must not find the queue full while the writer waits.
  func isLarge(_ batch: borrowing LineBuffer) -> Bool {
    batch.byteCount >= min(65_536, bytes / 2) || batch.count > lines / 2
  }
}
