#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A point in wall-clock time.
public struct Timestamp: Sendable, Hashable, Comparable {
  /// Nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted (POSIX time). Reaches the year 2262.
  public var nanosecondsSinceEpoch: Int64

  /// Makes a timestamp from POSIX time in nanoseconds.
  public init(nanosecondsSinceEpoch: Int64) {
    self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
  }

  /// The system's real-time clock, read now.
  public static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(nanosecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// Orders by time.
  public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool {
    lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch
  }
}
