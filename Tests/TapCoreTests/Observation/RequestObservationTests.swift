import TestSupport

@Suite struct RequestObservationTests {
  @Test(
    arguments: [
      (5, .nanoseconds(3), 8), (5, .nanoseconds(-3), 5), (5, .nanoseconds(Int64.max), .max),
      (.max, .nanoseconds(1), .max), (-5, .nanoseconds(3), -2),
    ] as [(Int64, Duration, Int64)])
  func `it ends after its duration, and at the last moment that there is`(
    start: Int64, duration: Duration, end: Int64
  ) {
    let observation = with(RequestObservation.bare()) {
      ($0.start, $0.duration) = (Timestamp(nanosecondsSinceEpoch: start), duration)
    }
    #expect(observation.endTime == Timestamp(nanosecondsSinceEpoch: end))
  }
}
