import TapCore

/// What the first start of a request fixes for its end.
struct RequestStart: Sendable {
  let timestamp = Timestamp.now
  let instant = Instant.now

  /// The nanoseconds from the start to an instant.
  func elapsed(to end: Instant) -> Int64 {
    end.nanoseconds &- instant.nanoseconds
  }
}
