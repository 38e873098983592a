import TestSupport

@Suite struct InstantTests {
  @Test(
    arguments: [
      (0, 100, 100), (1, 100, 100), (99, 100, 100), (100, 100, 200), (.max, 1_000_000_000, .max),
      (.max - 1, .max, .max),
    ] as [(Int64, Int64, Int64)])
  func `knows the next multiple of a number of nanoseconds`(now: Int64, step: Int64, expected: Int64) {
    #expect(Instant(nanoseconds: now).next(multipleOf: step).nanoseconds == expected)
  }
}
