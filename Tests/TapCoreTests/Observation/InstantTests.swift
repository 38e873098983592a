import TestSupport

@Suite struct InstantTests {
  @Test(
    arguments: [
      (0, .nanoseconds(100), 100), (1, .nanoseconds(100), 100), (99, .nanoseconds(100), 100),
      (100, .nanoseconds(100), 200), (7, .zero, 8), (7, .seconds(-1), 8), (.max, .seconds(1), .max),
      (.max - 1, .nanoseconds(Int64.max), .max),
    ] as [(Int64, Duration, Int64)])
  func `knows the next multiple of a duration`(now: Int64, step: Duration, expected: Int64) {
    #expect(Instant(nanoseconds: now).next(multipleOf: step).nanoseconds == expected)
  }
}
