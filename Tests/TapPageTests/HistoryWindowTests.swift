import TestSupport

@testable import TapPage

/// What the process keeps for the page, without a browser.
@Suite struct HistoryWindowTests {
  private static let slot = HistoryWindow.slotNanoseconds
  private static let span = "00f067aa0ba902b7"
  private static let start = Instant(nanoseconds: 7 * slot + 1)

  private struct Answer: Decodable {
    /// `[place, sum, {"failure": count}, count of the first bucket, …]`
    struct Totals: Decodable, Equatable {
      let place: Int
      let sum: Double
      let failures: [String: Int]
      var counts: [Int] = []

      init(_ place: Int, _ sum: Double, _ failures: [String: Int], _ counts: [Int]) {
        (self.place, self.sum, self.failures, self.counts) = (place, sum, failures, counts)
      }

      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        place = try list.decode(Int.self)
        sum = try list.decode(Double.self)
        failures = try list.decode([String: Int].self)
        while !list.isAtEnd { counts.append(try list.decode(Int.self)) }
      }
    }
    struct Slot: Decodable { let ageS: Double, totals: [Totals] }
    struct Slow: Decodable, Equatable {
      let party: Int, endUs: Int, durationS: Double, processingS: Double?
      let status: Int?, error: String?, spanId: String?

      enum CodingKeys: String, CodingKey {
        case party, endUs, durationS, processingS, spanId
        case status = "http.response.statusCode", error = "error.type"
      }
    }
    let slotS: Double, coveredS: Double, bounds: [String: [Double]]
    let parties: [[String: String]], slots: [Slot], slowest: [Slow], failed: [Slow]

    init(_ json: [UInt8]) throws {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      self = try decoder.decode(Answer.self, from: Data(json))
    }

    var count: Int { slots.flatMap(\.totals).flatMap(\.counts).reduce(0, +) }
  }

  func window(outbound: HistogramBuckets = .seconds, inbound: HistogramBuckets = .seconds) -> HistoryWindow {
    HistoryWindow(outbound: outbound, inbound: inbound, start: Self.start)
  }

  private func party(_ number: Int = 0) -> HistoryWindow.Party {
    HistoryWindow.Party(direction: .outbound, client: "client-\(number)", address: "a", port: 443)
  }

  func after(_ slots: Int64) -> Instant { Instant(nanoseconds: Self.start.nanoseconds + slots * Self.slot) }

  @Test func `adds up what happened in five seconds`() throws {
    var window = window(outbound: [0.1, 1])
    window.add(party(), 100_000_000, at: Self.start)
    window.add(party(), 100_000_001, "503", at: Self.start)
    window.add(party(1), -5, at: Self.start)
    window.add(party(), .max, at: after(2))
    window.add(
      .init(direction: .inbound, method: "GET", template: "/\"\\\u{1F}\u{E9}"), 1, "404", at: after(2))
    let answer = try Answer(window.json(at: Instant(nanoseconds: after(2).nanoseconds + 1_000_000_000)))
    #expect((answer.slotS, answer.coveredS) == (5, 11))
    #expect(answer.bounds["outbound"] == [0.1, 1])
    #expect(
      answer.parties == [
        ["direction": "outbound", "client": "client-0", "server_address": "a", "server_port": "443"],
        ["direction": "outbound", "client": "client-1", "server_address": "a", "server_port": "443"],
        ["direction": "inbound", "http_request_method": "GET", "http_route": "/\"\\\u{1F}\u{E9}"],
      ])
    #expect(answer.slots.map(\.ageS) == [11, 1])
    #expect(answer.slots[0].totals == [.init(0, 0.200000001, ["503": 1], [1, 1]), .init(1, 0, [:], [1])])
    #expect(
      answer.slots[1].totals == [
        .init(0, Double(Int64.max) / 1e9, [:], [0, 0, 1]), .init(2, 1e-9, ["404": 1], [1]),
      ])
  }

  @Test func `forgets what is older than ten minutes`() throws {
    var window = window()
    for slot in 0..<Int64(1_000) { window.add(party(Int(slot / 10)), 1, at: after(slot)) }
    #expect(window.slots.count == HistoryWindow.slotCount)
    // Those of the last 120 slots have a place each: the twelve or thirteen latest parties.
    #expect(window.parties.compactMap { $0 }.count == 12)
    #expect(window.parties.count <= HistoryWindow.partyLimit + 1)
    #expect(window.covered(at: after(1_000)) == Self.slot * 120)
    #expect(try Answer(window.json(at: after(999))).count == 120)
    // Without a further request nothing is dropped, and nothing old is shown.
    let later = try Answer(window.json(at: after(1_100)))
    #expect(later.count == 20)
    #expect(later.slots.allSatisfy { $0.ageS < 605 })
    #expect(try Answer(window.json(at: after(10_000))).slots.isEmpty)
  }

  func observation(_ ms: Int64, _ end: RequestEnd = .response(statusCode: 200)) -> RequestObservation {
    var observation = RequestObservation(
      request: RequestDescription(
        client: "a", method: "GET", url: "https://a/",
        traceContext: TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-\(Self.span)-00")),
      start: Timestamp(nanosecondsSinceEpoch: 1_000_000_000), duration: .milliseconds(ms), end: end)
    observation.timings[.processing] = .milliseconds(ms / 2)
    return observation
  }

  /// For any time up to now: the slowest request since then is among them.
  @Test func `keeps the slowest requests of a party`() throws {
    var window = window()
    func add(_ ms: Int64, _ slot: Int64, _ number: Int = 0, _ end: RequestEnd = .response(statusCode: 200)) {
      let one = observation(ms, end)
      window.keep(one, failure: nil, at: window.add(party(number), one.elapsed, at: after(slot)))
    }
    for (slot, milliseconds) in [(0, 50), (1, 900), (2, 30), (2, 40), (2, 35), (3, 20)] as [(Int64, Int64)] {
      add(milliseconds, slot)
    }
    add(8_000, 3, 1, .failure(.timeout, statusCode: nil))
    let answer = try Answer(window.json(at: after(3)))
    #expect(answer.slowest.map(\.durationS) == [0.9, 0.04, 0.02, 8])
    #expect(answer.slowest.map(\.party) == [0, 0, 0, 1])
    #expect(
      answer.slowest[0]
        == .init(
          party: 0, endUs: 1_900_000, durationS: 0.9, processingS: 0.45, status: 200, error: nil,
          spanId: Self.span))
    #expect(answer.slowest[3].error == "timeout" && answer.slowest[3].status == nil)
    // What is older than ten minutes goes, of a party that goes on and of one that does not.
    add(10, 122)
    #expect(try Answer(window.json(at: after(122))).slowest.map(\.durationS) == [0.02, 0.01, 8])
    // They are few, even where each is faster than the one before. The slowest of all and the newest are among them.
    for slot in 0..<Int64(100) { add(1_000 - slot, 200 + slot) }
    let few = try Answer(window.json(at: after(300))).slowest.map(\.durationS)
    #expect(few.count == HistoryWindow.slowLimit && few.first == 1 && few.last == 0.901)
  }

  /// Of each kind the newest, however fast it failed, and at most four kinds.
  @Test func `keeps the newest failed requests of a party`() throws {
    var window = window()
    for (ms, code, slot) in [(90, 503, 0), (1, 503, 1), (1, 404, 1), (5, 200, 2)] as [(Int64, Int, Int64)] {
      let one = observation(ms, .response(statusCode: code))
      let failure = code == 200 ? nil : "\(code)"
      window.keep(one, failure: failure, at: window.add(party(), one.elapsed, failure, at: after(slot)))
    }
    let failed = try Answer(window.json(at: after(2))).failed
    #expect(failed.map(\.durationS) == [0.001, 0.001])
    #expect(Set(failed.map(\.status)) == [404, 503] && failed.allSatisfy { $0.spanId == Self.span })
    for code in Int64(500)..<600 {
      let one = observation(code, .response(statusCode: Int(code)))
      window.keep(one, failure: "\(code)", at: window.add(party(), one.elapsed, "\(code)", at: after(3)))
    }
    #expect(Set(try Answer(window.json(at: after(3))).failed.map(\.status)) == [596, 597, 598, 599])
    // With its party it goes.
    window.add(party(1), 1, at: after(200))
    #expect(try Answer(window.json(at: after(200))).failed.isEmpty)
  }

  @Test func `counts parties beyond the bound together`() throws {
    var window = window()
    for number in 0..<5_000 {
      window.add(party(number), 1_000_000, "503", at: Self.start)
      window.add(.init(direction: .inbound, method: "GET", template: "/\(number)"), 1_000_000, at: Self.start)
    }
    let answer = try Answer(window.json(at: Self.start))
    #expect(answer.count == 10_000)
    #expect(answer.parties.count == 2 * (HistoryWindow.partyLimit + 1))
    for direction in ["outbound", "inbound"] {
      let other = try #require(
        answer.parties.firstIndex(of: ["direction": direction, "otel_metric_overflow": "true"]))
      let totals = try #require(answer.slots.first?.totals.first { $0.place == other })
      #expect(totals.counts.reduce(0, +) == 5_000 - HistoryWindow.partyLimit)
    }
    // Ten minutes later there is room again, and the rest has a place for itself.
    window.add(party(9_999), 1, at: after(200))
    #expect(window.parties.compactMap { $0 } == [party(9_999)])
  }

  @Test func `tells templates apart while there are few`() throws {
    var window = window()
    for number in 0..<100 {
      let party = HistoryWindow.Party(
        direction: .outbound, client: "c", address: "a", port: 1, method: "GET", template: "/\(number)")
      window.add(party, 1, at: Self.start)
    }
    let answer = try Answer(window.json(at: Self.start))
    #expect(answer.count == 100)
    #expect(answer.parties.count == HistoryWindow.templateLimit + 1)
    #expect(answer.parties.first?["http_request_method"] == "GET")
    #expect(
      answer.parties.last == [
        "direction": "outbound", "client": "c", "server_address": "a", "server_port": "1",
      ])
    #expect(answer.slots.first?.totals.last?.counts == [100 - HistoryWindow.templateLimit])
  }

  @Test func `counts kinds of failures beyond the bound together`() throws {
    var window = window()
    for code in 400..<600 { window.add(party(), 1, "\(code)", at: Self.start) }
    window.add(party(), 1, "timeout", at: Self.start)
    let answer = try Answer(window.json(at: Self.start))
    #expect(
      answer.slots.first?.totals.first?.failures
        == ["400": 1, "401": 1, "402": 1, "403": 1, "4xx": 96, "_OTHER": 101])
  }

  @Test func `keeps at most thirty two bounds`() {
    for count in [0, 1, 14, 32, 33, 64, 65, 256, 100_000] {
      let bounds = (0..<count).map { Double($0) }
      let kept = window(outbound: HistogramBuckets(bounds)).outboundBounds
      #expect(
        kept.count <= HistoryWindow.boundLimit && kept.count >= min(count, HistoryWindow.boundLimit / 2))
      #expect(kept.last == bounds.last)
      #expect(Set(kept).isSubset(of: bounds) && kept == kept.sorted())
    }
  }

  @Test func `takes any time`() throws {
    var window = window()
    let times: [Int64] = [.min, -1, 0, 1, Self.start.nanoseconds, .max, 5, .min]
    for time in times {
      window.add(party(), .min, at: Instant(nanoseconds: time))
      for other in times { _ = try Answer(window.json(at: Instant(nanoseconds: other))) }
    }
    #expect(window.slots.map(\.number) == window.slots.map(\.number).sorted())
  }

  @Test func `stays small`() throws {
    var window = window(
      outbound: .linear(from: 1, width: 1, count: 256), inbound: .linear(from: 1, width: 1, count: 256))
    let name = String(repeating: "\u{1}", count: 256)
    for slot in 0..<Int64(HistoryWindow.slotCount) {
      for number in 0...HistoryWindow.partyLimit {
        for second in 0..<300 {
          let nanoseconds = Int64(second) * 1_000_000_000
          window.add(
            .init(direction: .outbound, client: "\(number)\(name)", address: name, port: number),
            nanoseconds, "503", at: after(slot))
          window.add(
            .init(direction: .inbound, method: "\(number)", template: name), nanoseconds, "503",
            at: after(slot))
        }
      }
    }
    // Bytes of the totals: that is what the window consists of.
    let totals = window.slots.flatMap(\.totals)
    let bytes = totals.reduce(0) { $0 + MemoryLayout<HistoryWindow.Totals>.stride + 32 + 4 * $1.counts.count }
    #expect(totals.count == HistoryWindow.slotCount * 2 * (HistoryWindow.partyLimit + 1))
    #expect(bytes < 1_500_000, "\(bytes)")
    #expect(window.json(at: after(119)).count < 1_500_000)
  }

  @Test func `counts each request once on many threads`() throws {
    let registry = Registry()
    let history = RequestHistory(outbound: .init(), inbound: .init())
    let recorder = try RequestRecorder(registry: registry, consumers: [history])
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for number in 0..<2_000 {
        let request = recorder.outbound.begin(client: "\(thread)", method: "GET", url: "https://a/")
        if number % 10 == 0 { _ = history.json() }
        request.end(statusCode: number % 4 == 0 ? 500 : 200)
      }
    }
    recorder.drain()
    let shared = history.json()
    #expect(history.json() == shared)
    let aSecondLater = Instant(nanoseconds: Instant.now.nanoseconds + 1_000_000_000)
    let answer = try Answer(history.json(at: aSecondLater))
    #expect(answer.count == 16_000)
    #expect(answer.slots.flatMap(\.totals).reduce(0) { $0 + $1.failures["500", default: 0] } == 4_000)
  }
}

extension HistoryWindow {
  @discardableResult
  fileprivate mutating func add(
    _ party: Party, _ time: Int64, _ failure: String? = nil, at now: Instant
  ) -> Int {
    add(party, nanoseconds: time, failure: failure, at: now)
  }
}
