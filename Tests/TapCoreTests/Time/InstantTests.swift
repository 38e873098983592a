import TestSupport

@testable import TapCore

@Suite struct InstantTests {
  @Test(
    arguments: [
      (0, 100, 100), (1, 100, 100), (99, 100, 100), (100, 100, 200), (.max, 1_000_000_000, .max),
      (.max - 1, .max, .max),
    ] as [(Int64, Int64, Int64)])
  func `knows the next multiple of a number of nanoseconds`(now: Int64, step: Int64, expected: Int64) {
    #expect(Instant(nanoseconds: now).next(multipleOf: step).nanoseconds == expected)
  }

  @Test(
    arguments: [
      (5, .nanoseconds(3), 8), (5, .zero, 5), (5, .nanoseconds(-3), 5), (5, Duration(attoseconds: .min), 5),
      (5, .nanoseconds(Int64.max), .max), (.min, .seconds(Int64.max), -1),
    ] as [(Int64, Duration, Int64)])
  func `goes forward by a duration, as far as there is time`(now: Int64, by: Duration, expected: Int64) {
    #expect(Instant(nanoseconds: now).advanced(by: by) == Instant(nanoseconds: expected))
  }

  @Test(
    arguments: [
      (.milliseconds(-1_500), -1_500_000_000, -1.5),
      (.nanoseconds(1_250_000_001), 1_250_000_001, 1.250000001),
      (Duration(attoseconds: -999_999_999), 0, -999_999_999e-18),
      (.seconds(9_223_372_037), .max, 9_223_372_037), (.seconds(-9_223_372_037), .min, -9_223_372_037),
      (.seconds(Int64.max), .max, 0x1p63), (Duration(attoseconds: .max), .max, 0x1p63),
      (Duration(attoseconds: .min), .min, -0x1p63),
    ] as [(Duration, Int64, Double)])
  func `a duration has its nanoseconds, as many as there can be, and its seconds`(
    duration: Duration, nanoseconds: Int64, seconds: Double
  ) {
    #expect(duration.nanoseconds == nanoseconds)
    #expect(abs(duration.seconds - seconds) <= seconds.magnitude * 1e-15)
  }

  @Test(
    arguments: [
      (-1_000_000_001, -2, 999_999_999), (-1_000_000_000, -1, 0), (-999_999_999, -1, 1),
      (-1, -1, 999_999_999), (0, 0, 0), (1, 0, 1), (999_999_999, 0, 999_999_999), (1_000_000_000, 1, 0),
    ] as [(Int64, Int64, Int64)])
  func `the nanoseconds of a second count forward, before 1970 too`(
    time: Int64, second: Int64, nanosecond: Int64
  ) {
    let (seconds, nanoseconds) = Timestamp(nanosecondsSinceEpoch: time).secondsAndNanoseconds
    #expect(seconds == second && nanoseconds == nanosecond)
    #expect(Timestamp(nanosecondsSinceEpoch: -1) < Timestamp(nanosecondsSinceEpoch: 0))
  }
}
