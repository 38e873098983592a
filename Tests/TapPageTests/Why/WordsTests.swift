import TestSupport

@testable import TapPage

struct WordsTests {
  @Test func `numbers have three digits, and times their unit`() {
    let seconds = [
      0, 1e-7, 0.000_45, 0.000_999_6, 0.012_34, 0.38, 0.9996, 1, 2.005, 9.996, 12.34, 99.96, 345.6, .nan,
    ]
    expectEqual(
      seconds.map(Words.seconds),
      [
        "0 ms", "0.1 µs", "450 µs", "1 ms", "12.3 ms", "380 ms", "1 s", "1 s", "2.01 s", "10 s", "12.3 s",
        "100 s", "346 s", "–",
      ])
    expectEqual(
      [0, 59.9, 60, 3_725, -1, .infinity].map(Words.age).prefix(5),
      ["0 s", "59 s", "1 min", "1 h 2 min", "0 s"])
    let time = Timestamp(nanosecondsSinceEpoch: 1_763_726_405_999_999_999)
    #expect([Words.time(time), time.utc] == ["12:00:05", "2025-11-21T12:00:05Z"])
    #expect(Words.time(Timestamp(nanosecondsSinceEpoch: -1)) == "23:59:59")
  }
}
