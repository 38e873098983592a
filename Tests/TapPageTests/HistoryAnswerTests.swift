import TestSupport

@testable import TapPage

/// What the page opens with, without a browser.
struct HistoryAnswerTests {
  private struct Answer: Decodable {
    struct Series: Decodable { let side: String, labels: String }
    struct Added: Decodable, Equatable {
      let series: Int, sumS: Double, counts: [Double]
      var processingS: Double?, opened: Int?, roundTrips: Int?, roundTripsS: Double?, sentAgain: Int?
    }
    struct Upstream: Decodable, Equatable { let route: String, upstreamS: Double }
    struct Slot: Decodable { let slot: Int64, added: [Added], upstream: [Upstream]? }
    struct Request: Decodable { let series: Int }
    let slot: Int64, slotS: Double, slotAgeS: Double, coveredS: [String: Double], bounds: [String: [Double]]
    let series: [Series], slots: [Slot], slowest: [Request], failed: [Request]

    init(_ json: [UInt8]) throws {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      self = try decoder.decode(Answer.self, from: Data(json))
    }
  }

  @Test func `any text can stand in JSON`() throws {
    let text = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
    let json = JSON.list([JSON.text(text)].compactMap { $0 }).description
    #expect(try JSONDecoder().decode([String].self, from: Data(json.utf8)) == [text])
  }

  @Test func `has both directions, with the labels of the metrics`() throws {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true)
    let made = RequestDescription(
      client: "\"\\\u{1F}\u{E9}", method: "GET", serverAddress: "a", serverPort: 443)
    driver.record(made, .response(statusCode: 503)) {
      ($0.duration, $0.timings[.processing]) = (.milliseconds(250), .milliseconds(200))
      ($0.openedConnections, $0.networkRoundTrip, $0.retransmittedSegments) = (1, .milliseconds(2), 3)
    }
    driver.record(
      RequestDescription(direction: .inbound, method: "GET", url: "/", urlTemplate: "/users/{id}"),
      .response(statusCode: 500))
    let answer = try Answer(PageHistory(driver.recorder).json())
    #expect(answer.slotS == 5 && answer.coveredS.count == 2)
    for side in ["made", "served"] {
      #expect(answer.bounds[side] == HistogramBuckets.seconds.upperBounds)
    }
    let labels = #"""
      made client="\"\\\#u{1F}\#u{E9}",error_type="503",http_request_method="GET",\#
      http_response_status_code="503",server_address="a",server_port="443"
      served error_type="500",http_request_method="GET",http_response_status_code="500",http_route="/users/{id}"
      """#
    #expect(answer.series.map { "\($0.side) \($0.labels)" }.joined(separator: "\n") == labels)
    let added = answer.slots.flatMap(\.added).sorted { $0.series < $1.series }
    let expected: [Answer.Added] = [
      .init(
        series: 0, sumS: 0.25, counts: [0, 0, 0, 0, 0, 0, 1], processingS: 0.2, opened: 1,
        roundTrips: 1, roundTripsS: 0.002, sentAgain: 3), .init(series: 1, sumS: 0.02, counts: [0, 0, 1]),
    ]
    #expect(added == expected, "\(added)")
    #expect(answer.failed.map(\.series) == [0, 1] && answer.slowest.map(\.series) == [0, 1])
  }

  /// The page fills the time between a slot and the one before, and keeps those that were over.
  @Test func `lists the slots oldest first, and since the one that was the current one`() throws {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true)
    let request = RequestDescription(client: "a", method: "GET", serverAddress: "a", serverPort: 443)
    let served = RequestDescription(direction: .inbound, method: "GET", urlTemplate: "/a")
    let (history, later) = (PageHistory(driver.recorder), Instant.now.advanced(by: .seconds(10)))
    driver.record(request)
    // A reading of that moment ends the slot of the first request.
    let first = try Answer(history.json(at: later))
    driver.record(request)
    driver.record(served) { $0.upstream = with(UpstreamTime()) { $0.nanoseconds = 1_000_000 } }
    let last = later.advanced(by: .seconds(1))
    let answer = try Answer(history.json(at: last))
    let slots = answer.slots.map(\.slot)
    #expect(slots.count == 2 && slots[0] < slots[1] && slots[1] == first.slot, "\(slots)")
    // The second one began with the last five seconds.
    let begin = last.nanoseconds / 5_000_000_000 * 5_000_000_000
    #expect(answer.slotAgeS == Double((last.nanoseconds - begin) / 1_000_000) / 1_000)
    let newest = try Answer(history.json(since: first.slot, at: last)).slots
    #expect(newest.map(\.slot) == [first.slot])
    #expect(newest.first?.upstream == [.init(route: "/a", upstreamS: 0.001)])
    #expect(answer.series.count == 2)
    let over = try Answer(history.json(at: later.advanced(by: .seconds(1_200))))
    #expect(over.coveredS == ["made": 600, "served": 600] && over.slots.isEmpty)
  }

  @Test func `has all of a request that the page opens`() throws {
    let driver = try RequestDriver(registry: Registry(), keepsHistory: true)
    let trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
    driver.record(
      RequestDescription(
        client: "a", method: "GET", serverAddress: "a", serverPort: 443, traceContext: trace),
      .failure(.timeout, statusCode: 206)
    ) {
      $0.start = Timestamp(nanosecondsSinceEpoch: 1_000_000_999)
      ($0.duration, $0.cutOffPhase) = (.milliseconds(250), .transfer)
      for (number, phase) in RequestTimings.Phase.allCases.enumerated() {
        $0.timings[phase] = .milliseconds(number)
      }
    }
    let request = [
      #"{"series":0,"end_us":1250000,"duration_s":0.25,"queue_s":0.0,"resolve_s":0.001,"connect_s":0.002"#,
      #""tls_s":0.003,"upload_s":0.004,"processing_s":0.005,"response_s":0.006,"transfer_s":0.007"#,
      #""local_s":0.008,"http.response.status_code":206,"cut_off_phase":"transfer","error.type":"timeout""#,
      #""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7"}"#,
    ].joined(separator: ",")
    let json = String(decoding: PageHistory(driver.recorder).json(), as: UTF8.self)
    #expect(json.hasSuffix("\"slowest\":[\(request)],\"failed\":[\(request)]}\n"), "\(json)")
    // Of a served request, how long it waited for its calls: without that the page says that there were none.
    let served = driver.recorder.inbound.begin(method: "GET", path: "/", route: "/a")
    driver.recorder.outbound.begin(client: "b", method: "GET", url: "/", trace: served.trace.child()).end(
      statusCode: 200)
    served.end(statusCode: 200)
    let both = String(decoding: PageHistory(driver.recorder).json(), as: UTF8.self)
    #expect(
      both.contains(/"duration_s":[^,]+,"upstream_s":[^,]+,"own_s":[^,]+,"upstream_requests":1,"http/),
      "\(both)")
  }

  @Test func `counts each request once on many threads`() throws {
    let recorder = try RequestRecorder(registry: Registry(), consumers: [], keepsHistory: true)
    let history = PageHistory(recorder)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<2_000 {
        let request = recorder.outbound.begin(client: "\(thread)", method: "GET", url: "https://a/")
        if number % 10 == 0 { _ = history.json() }
        request.end(statusCode: number % 4 == 0 ? 500 : 200)
      }
    }
    recorder.drain()
    // Those that ask within a second share the answer.
    let later = Instant.now.advanced(by: .seconds(1))
    let shared = history.json(at: later)
    expectEqual(history.json(at: later.advanced(by: .milliseconds(900))), shared)
    let answer = try Answer(shared)
    var counts: [Bool: Double] = [:]
    for added in answer.slots.flatMap(\.added) {
      let isError = answer.series[added.series].labels.contains("500")
      counts[isError, default: 0] += added.counts.reduce(0, +)
    }
    #expect(counts == [true: 4_000, false: 12_000])
  }
}
