import TapCore

extension LineQueue {
  /// All that the lock guards.
  struct State: ~Copyable {
    var lines: LineBuffer
    var phase = Phase.running
    var writer = WriterState.busy
    /// The lines that wait are a batch already.
    var isBatchWhole = false
    /// The last write failed: a queue that is full now is full because of that.
    var isFaulted = false
    /// Lines ever taken into the queue.
    var accepted: UInt64 = 0
    /// Lines of the batch in the writer's hands, and how many had been accepted before the first of them.
    var inFlight: UInt64 = 0
    var acceptedBeforeBatch: UInt64 = 0
    /// Lines up to here are asked to be flushed, and have been.
    var flushTarget: UInt64 = 0
    var flushed: UInt64 = 0
    var statistics = LogStatistics()
    /// What has been dropped and not been told by a line yet, and whether more was since the writer last looked.
    var unreported = Tally<LogDropReason>()
    var isDropping = false

    init(limits: QueueLimits) {
      lines = LineBuffer(byteLimit: limits.bytes, lineLimit: limits.lines)
    }
  }

  enum Phase: Equatable {
    case running
    /// Takes nothing in any more, and writes what it has until the deadline.
    case draining(until: Instant)
    /// Nothing more will be written; the writer may still be in its last call.
    case closed
    /// The writer has ended, and given up the file.
    case ended
  }

  /// What it takes to get the writer's attention.
  enum WriterState {
    /// Waits for the first line.
    case idle
    /// Waits a little for more lines.
    case lingering
    /// Writes, or has been woken; looks by itself before it waits.
    case busy
  }
}

extension LineQueue.State {
  /// Whether the writer needs to be woken, now that a line has come.
  mutating func shouldWakeWriter(_ limits: QueueLimits) -> Bool {
    switch writer {
    case .busy: return false
    case .lingering where !limits.isLarge(lines): return false
    case .idle, .lingering:
      writer = .busy
      return true
    }
  }

  /// The reason that a line dropped for want of room is counted under.
  var fullReason: LogDropReason { isFaulted ? .writeError : .queueFull }

  mutating func drop(_ reason: LogDropReason, count: UInt64 = 1) {
    statistics.dropped[reason] &+= count
    unreported[reason] &+= count
    isDropping = true
  }

  /// Drops the oldest lines until there is room for another one. `false` if there is none then either.
  mutating func replaceOldest(by line: UnsafeRawBufferPointer, severity: LogSeverity) -> Bool {
    guard line.count <= lines.byteLimit else { return false }
    while !lines.isEmpty {
      lines.removeFirst()
      drop(fullReason)
      if lines.append(line, severity: severity) { return true }
    }
    return false
  }

  /// What has been dropped, once that has ended: nothing was since the writer last looked, or there is room again.
  mutating func takeReport() -> Tally<LogDropReason>? {
    let hasEnded = !isDropping || lines.isEmpty || phase != .running
    isDropping = false
    guard unreported.total > 0, hasEnded, !isFaulted else { return nil }
    defer { unreported = Tally() }
    return unreported
  }

  /// How many of the lines ever accepted are surely written or dropped: all before the oldest that is pending.
  var settled: UInt64 { inFlight > 0 ? acceptedBeforeBatch : accepted &- UInt64(lines.count) }

  /// Gives the writer all lines, by an exchange of buffers; or those alone that a flush waits for, since more come
  /// faster than a slow sink takes them.
  mutating func take(into batch: inout LineBuffer) {
    acceptedBeforeBatch = accepted &- UInt64(lines.count)
    if flushTarget > acceptedBeforeBatch, flushTarget < accepted {
      lines.moveFirst(Int(flushTarget - acceptedBeforeBatch), to: &batch)
    }
    if batch.isEmpty { swap(&lines, &batch) }
    isBatchWhole = false
    inFlight = UInt64(batch.count)
  }

  /// Drops all that is pending, for good.
  mutating func giveUp() {
    let reason: LogDropReason = isFaulted ? .writeError : .shutdown
    drop(reason, count: UInt64(lines.count) &+ inFlight)
    lines.removeAll()
    inFlight = 0
    phase = .closed
  }
}

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
