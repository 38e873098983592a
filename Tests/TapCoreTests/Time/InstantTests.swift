import TestSupport

@testable import TapCore

@Suite struct InstantTests {
  @Test func `knows the next multiple of a number of nanoseconds`() {
    let rows: [(now: Int64, step: Int64, next: Int64)] = [
      (0, 100, 100), (1, 100, 100), (99, 100, 100), (100, 100, 200), (.max, 1_000_000_000, .max),
      (.max - 1, .max, .max),
    ]
    let next = rows.map { Instant(nanoseconds: $0.now).next(multipleOf: $0.step).nanoseconds }
    #expect(next == rows.map(\.next))
  }

  @Test func `goes forward by a duration, as far as there is time`() {
    let rows: [(now: Int64, by: Duration, then: Int64)] = [
      (5, .nanoseconds(3), 8), (5, .zero, 5), (5, .nanoseconds(-3), 5), (5, Duration(attoseconds: .min), 5),
      (5, .nanoseconds(Int64.max), .max), (.min, .seconds(Int64.max), -1),
    ]
    let then = rows.map { Instant(nanoseconds: $0.now).advanced(by: $0.by).nanoseconds }
    #expect(then == rows.map(\.then))
  }

  @Test func `a duration has its nanoseconds, as many as there can be, and its seconds`() {
    let rows: [(Duration, nanoseconds: Int64, seconds: Double)] = [
      (.milliseconds(-1_500), -1_500_000_000, -1.5),
      (.nanoseconds(1_250_000_001), 1_250_000_001, 1.250000001),
      (Duration(attoseconds: -999_999_999), 0, -999_999_999e-18),
      (.seconds(9_223_372_037), .max, 9_223_372_037), (.seconds(-9_223_372_037), .min, -9_223_372_037),
      (.seconds(Int64.max), .max, 0x1p63), (Duration(attoseconds: .max), .max, 0x1p63),
      (Duration(attoseconds: .min), .min, -0x1p63),
    ]
    #expect(rows.map(\.0.nanoseconds) == rows.map(\.nanoseconds))
    #expect(rows.allSatisfy { abs($0.0.seconds - $0.seconds) <= $0.seconds.magnitude * 1e-15 })
  }

  @Test func `the nanoseconds of a second count forward, before 1970 too`() {
    let rows: [(time: Int64, second: Int64, nanosecond: Int64)] = [
      (-1_000_000_001, -2, 999_999_999), (-1_000_000_000, -1, 0), (-999_999_999, -1, 1),
      (-1, -1, 999_999_999), (0, 0, 0), (1, 0, 1), (999_999_999, 0, 999_999_999), (1_000_000_000, 1, 0),
    ]
    let times = rows.map { Timestamp(nanosecondsSinceEpoch: $0.time) }
    let found = times.map(\.secondsAndNanoseconds).map { [$0, $1] }
    #expect(found == rows.map { [$0.second, $0.nanosecond] } && times == times.sorted())
  }
}
