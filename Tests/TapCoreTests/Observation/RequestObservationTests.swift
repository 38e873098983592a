import TestSupport

@Suite struct RequestObservationTests {
  @Test func `its durations are set and read one by one, and a part of a nanosecond is none`() {
    var observation = RequestObservation.bare()
    #expect(observation.duration == .zero && observation.timeToFirstByte == nil)
    #expect(observation.networkRoundTrip == nil && observation.timeToResend == nil)
    (observation.duration, observation.timeToFirstByte) = (.seconds(4), .seconds(3))
    observation.networkRoundTrip = .seconds(2)
    observation.timeToResend = Duration(attoseconds: 1_999_999_999)
    #expect(observation.duration == .seconds(4) && observation.timeToFirstByte == .seconds(3))
    #expect(observation.networkRoundTrip == .seconds(2) && observation.timeToResend == .nanoseconds(1))
    observation.timeToFirstByte = nil
    (observation.networkRoundTrip, observation.timeToResend) = (nil, nil)
    #expect(observation == with(RequestObservation.bare()) { $0.duration = .seconds(4) })
  }

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
