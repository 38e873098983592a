import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct LogSamplingTests {
  private func decision(
    _ sampling: LogSampling, _ end: RequestEnd, duration: Duration = .zero, trace: String? = nil,
    random: UInt64 = 0
  ) -> Bool {
    var one = RequestObservation.bare(end)
    one.duration = duration
    one.request.traceContext = trace.flatMap { TraceContext(traceparent: "00-\($0)-b7ad6b7169203331-01") }
    return sampling.keeps(
      one.severity, duration: duration, trace: one.request.traceContext, random: { random })
  }

  @Test func `keeps errors and slow requests, whatever the rate, and everything by default`() {
    let strict = LogSampling(rate: 0, slow: .seconds(1))
    let rows: [(sampling: LogSampling, end: RequestEnd, duration: Duration, isKept: Bool)] = [
      (LogSampling(), .cancelled, .zero, true), (LogSampling(), .response(statusCode: 200), .zero, true),
      (LogSampling(), .failure(.tls, statusCode: nil), .zero, true),
      (strict, .response(statusCode: 500), .zero, true),
      (strict, .failure(.dns, statusCode: nil), .zero, true),
      (strict, .response(statusCode: 200), .seconds(1), true),
      (strict, .response(statusCode: 200), .milliseconds(999), false),
      (strict, .response(statusCode: 404), .zero, false), (strict, .cancelled, .zero, false),
      (LogSampling(rate: 0), .response(statusCode: 404), .zero, false),
      (LogSampling(rate: 0, slow: .zero), .response(statusCode: 200), .zero, true),
    ]
    #expect(rows.map { decision($0.sampling, $0.end, duration: $0.duration) } == rows.map(\.isKept))
  }

  /// Kept is a trace whose last 56 bits are at or above (1 - rate) · 2^56.
  @Test func `decides by the end of the trace id`() {
    let rows: [(rate: Double, id: String, isKept: Bool)] = [
      (0.5, "0af7651916cd43dd8480000000000000", true), (0.5, "0af7651916cd43ddff7fffffffffffff", false),
      (0.25, "00000000000000000ac0000000000000", true), (0.25, "0af7651916cd43ddffbfffffffffffff", false),
      (1e-12, "0af7651916cd43dd84ffffffffffffff", true), (.nan, "0af7651916cd43dd84ffffffffffffff", false),
    ]
    let kept = rows.map {
      decision(LogSampling(rate: $0.rate), .response(statusCode: 200), trace: $0.id)
    }
    #expect(kept == rows.map(\.isKept))
  }

  @Test func `keeps the lines of a trace all or none`() throws {
    let (sink, log) = try RequestLog.collecting { $0.sampling.rate = 0.5 }
    let kept = "0af7651916cd43dd8480000000000000"
    for id in [kept, "0af7651916cd43ddff7fffffffffffff"] {
      for (direction, code) in [(RequestDirection.inbound, 200), (.outbound, 204), (.outbound, 404)] {
        var observation = RequestObservation.bare(.response(statusCode: code))
        observation.request.direction = direction
        observation.request.traceContext = TraceContext(traceparent: "00-\(id)-b7ad6b7169203331-01")
        log.requestEnded(observation)
      }
    }
    #expect(log.shutdown())
    #expect(sink.lines.map { $0.contains(kept) } == [true, true, true])
  }

  @Test func `keeps 100 lines of requests that wait in a minute, and counts the others`() {
    let filter = LogFilter(sampling: LogSampling(rate: 0), clients: [:])
    func kept(_ seconds: Int64) -> Int {
      let now = Instant(nanoseconds: seconds * 1_000_000_000)
      return (0..<60).count { _ in filter.keepsWait(at: now) }
    }
    let counts: [Int] = [kept(600), kept(659), kept(659), kept(660)]
    #expect(counts == [60, 40, 0, 60] as [Int])
    #expect(filter.statistics == [.waits: 80])
  }

  @Test func `keeps about its share of requests without a trace, and counts the others`() throws {
    let (sink, log) = try RequestLog.collecting {
      $0.sampling.rate = 0.1
      $0.clientSampling = ["quiet": LogSampling(rate: 0)]
    }
    var quiet = RequestObservation.bare()
    quiet.request.client = "quiet"
    let count = Extent.of(2_000, extensive: 10_000)
    for _ in 0..<count {
      log.requestEnded(.bare())
      log.requestEnded(quiet)
    }
    #expect(log.shutdown())
    let statistics = log.statistics
    #expect((count * 8 / 100...count * 12 / 100).contains(Int(statistics.lines)))
    #expect(statistics.lines + statistics.filteredLines(.sampling) == 2 * UInt64(count))
    #expect(!sink.lines.contains { $0.contains("quiet") })
  }
}
