/// A point in wall-clock time.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX time). Reaches the year 2262.
  public var nanosecondsSinceEpoch: Int64

  /// Makes a timestamp from POSIX time in nanoseconds.
  public init(nanosecondsSinceEpoch: Int64) {
    self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
  }

  /// The system's real-time clock, read now.
  public static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: System.realTimeNanoseconds) }

  /// Orders by time.
  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch
  }

  /// Whole seconds, rounded down, and the nanoseconds since then.
  var secondsAndNanoseconds: (quotient: Int64, remainder: Int64) {
    nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000_000_000)
  }
}
