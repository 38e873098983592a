import TestSupport

@Suite struct RequestObservationTests {
  @Test func `it ends after its duration, and at the last moment that there is`() {
    let rows: [(start: Int64, duration: Duration, end: Int64)] = [
      (5, .nanoseconds(3), 8), (5, .nanoseconds(-3), 5), (5, .nanoseconds(Int64.max), .max),
      (.max, .nanoseconds(1), .max), (-5, .nanoseconds(3), -2),
    ]
    let ends = rows.map { row in
      let start = Timestamp(nanosecondsSinceEpoch: row.start)
      return with(RequestObservation.bare()) { ($0.start, $0.duration) = (start, row.duration) }.endTime
    }
    #expect(ends == rows.map { Timestamp(nanosecondsSinceEpoch: $0.end) })
  }
}
