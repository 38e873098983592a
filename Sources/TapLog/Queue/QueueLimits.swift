/// What bounds the queue, and what happens at the bound.
struct QueueLimits: Sendable {
  var bytes: Int
  var lines: Int
  var whenFull: RequestLog.FullQueuePolicy
  /// How long the first line of a batch waits for others.
  var batchDelay: Duration

  /// From how many bytes on a batch does not wait for more.
  var largeBatch: Int { min(65_536, bytes / 2) }
}
