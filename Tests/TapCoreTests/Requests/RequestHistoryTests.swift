import TestSupport

@testable import TapCore

/// What the process keeps for the page, at moments of the tests' own.
struct RequestHistoryTests {
  private static let slot = RequestHistory.slotNanoseconds
  private static let start = Instant(nanoseconds: 7 * slot + 1)
  private static let name = "http_client_request_duration_seconds"

  private func after(_ slots: Int64) -> Instant {
    Instant(nanoseconds: Self.start.nanoseconds + slots * Self.slot)
  }

  private func store(
    _ buckets: HistogramBuckets = [0.1, 1], direction: RequestDirection = .outbound, limit: Int = 2_000,
    idleExpiry: Duration? = nil
  ) throws -> RequestStore {
    let configuration = with(RequestConfiguration()) {
      ($0.durationBuckets, $0.series) = (buckets, .init(limit: limit, idleExpiry: idleExpiry))
    }
    let columns = try RequestColumns(direction, configuration)
    return RequestStore(
      direction, columns, configuration, exemplars: .sampled, historyStart: Self.start)
  }

  private func record(
    _ ms: Int64, _ host: String = "a", _ end: RequestEnd = .response(statusCode: 200),
    direction: RequestDirection = .outbound, in store: inout RequestStore, at now: Instant
  ) {
    let request = RequestDescription(
      direction: direction, client: "c", method: "GET", serverAddress: host)
    let observation = RequestObservation(
      request: request, start: Timestamp(nanosecondsSinceEpoch: 0), duration: .milliseconds(ms), end: end)
    store.end(observation, store.begin(request), at: now)
  }

  /// The samples of a scrape: sum, count, and the requests of at most 100 ms.
  private func scrape(_ store: inout RequestStore, at now: Instant) -> [String: Double] {
    let lines = Exposition(of: store.gather(at: now), in: .text).text.split(separator: "\n").map(String.init)
    let own = lines.values.filter { $0.key.hasPrefix(Self.name) }.map {
      ($0.key.dropFirst(Self.name.count).replacing(#",le="0.1""#, with: ""), $0.value)
    }
    return Dictionary(uniqueKeysWithValues: own.filter { !$0.0.contains("le=") }.map { (String($0), $1) })
  }

  /// The same of slots.
  private func samples(_ slots: some Sequence<RequestHistory.Slot>) -> [String: Double] {
    slots.reduce(into: [:]) { samples, slot in
      for addition in slot.additions {
        let labels = "{\(String(decoding: addition.labels, as: UTF8.self))}"
        samples["_sum" + labels, default: 0] += addition.sum
        samples["_count" + labels, default: 0] += Double(addition.counts.reduce(0, +))
        samples["_bucket" + labels, default: 0] += Double(addition.counts[0])
      }
    }
  }

  private func window(_ store: inout RequestStore, at now: Instant) throws -> RequestHistory.Window {
    let window = store.history(at: now)
    return try #require(window)
  }

  private func count(_ window: RequestHistory.Window) -> UInt32 {
    window.slots.flatMap(\.additions).flatMap(\.counts).reduce(0, +)
  }

  @Test func `any slots add up to the difference of two scrapes`() throws {
    var store = try store(limit: 20)
    var random = SeededGenerator(seed: 7)
    var scrapes: [[String: Double]] = []
    for slot in 0..<Int64(60) {
      scrapes.append(scrape(&store, at: after(slot)))
      // Some slots have none. The limit of series is exceeded.
      for _ in 0..<Int.random(in: 0...40, using: &random) where slot % 7 != 3 {
        record(
          .random(in: 0...2_000, using: &random), "host-\(Int.random(in: 0..<15, using: &random))",
          Bool.random(using: &random) ? .response(statusCode: 200) : .failure(.timeout, statusCode: nil),
          in: &store, at: after(slot))
      }
    }
    let now = Instant(nanoseconds: after(60).nanoseconds - 1)
    let last = scrape(&store, at: now)
    let window = try window(&store, at: now)
    #expect(last.keys.contains(#"_count{otel_metric_overflow="true"}"#))
    for (slot, first) in scrapes.enumerated() {
      let added = samples(window.slots.filter { $0.begin >= after(Int64(slot) - 1) })
      for (name, value) in last {
        let error = added[name, default: 0] - (value - first[name, default: 0])
        #expect(name.hasPrefix("_sum") ? abs(error) < 1e-9 : error == 0, "\(name) since \(slot)")
      }
      #expect(Set(added.keys).isSubset(of: last.keys))
    }
  }

  @Test func `forgets what is older than ten minutes`() throws {
    var store = try store()
    for slot in 0..<Int64(1_000) { record(1, "\(slot / 10)", in: &store, at: after(slot)) }
    let full = try window(&store, at: after(999))
    #expect(full.covered == 120 * Self.slot && full.bounds == [0.1, 1])
    // The oldest and the current one are parts.
    #expect(full.slots.count == 121 && count(full) == 121)
    // Without a further request nothing old is shown.
    let later = try window(&store, at: after(1_099))
    #expect(count(later) == 21)
    let last = try window(&store, at: after(10_000))
    #expect(last.slots.isEmpty && last.covered == 120 * Self.slot)
  }

  /// For any time up to now the slowest request of a series since then is among them, and its newest that
  /// failed. With a limit of one series, there is another with requests that failed and others.
  @Test(arguments: [2_000, 1])
  func `keeps of each series the slowest requests, and the newest failed one`(limit: Int) throws {
    var (store, random) = (try store(limit: limit), SeededGenerator(seed: limit))
    var all: [String: [(slot: Int64, ms: Int64, isFailed: Bool)]] = [:]
    for slot in Int64(0)..<40 {
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        let (host, isFailed) = (Bool.random(using: &random) ? "a" : "b", Bool.random(using: &random))
        let ms = Int64.random(in: 0...1_000_000, using: &random)
        let end = isFailed ? RequestEnd.failure(.timeout, statusCode: nil) : .response(statusCode: 200)
        record(ms, host, end, in: &store, at: after(slot))
        let series = "\(host) \(isFailed)"
        all[all.count < limit || all[series] != nil ? series : "other", default: []].append(
          (slot, ms, isFailed))
      }
    }
    let expected = all.values.map { requests in
      let slowest = requests.filter { one in
        requests.allSatisfy { $0.slot < one.slot || $0.ms <= one.ms }
      }
      return [slowest.map(\.ms), requests.filter(\.isFailed).suffix(1).map(\.ms)]
    }
    let additions = try window(&store, at: after(40)).slots.flatMap(\.additions)
    let kept = Dictionary(grouping: additions, by: \.labels).values.map { additions in
      [additions.compactMap(\.slowest), additions.compactMap(\.newestFailure)].map { examples in
        examples.map { $0.nanoseconds / 1_000_000 }
      }
    }
    #expect(Set(kept) == Set(expected) && expected.count == (limit == 1 ? 2 : 4))
  }

  /// A 4xx that the app answers has no error type.
  @Test func `a 4xx of a served request is a failed one too`() throws {
    var store = try store(direction: .inbound)
    for (time, status) in [399, 400, 404, 499].enumerated() {
      record(
        Int64(time), "a", .response(statusCode: status), direction: .inbound, in: &store, at: after(0))
    }
    let failed = try window(&store, at: after(1)).slots.flatMap(\.additions).compactMap(\.newestFailure)
    #expect(failed.map { $0.nanoseconds / 1_000_000 }.sorted() == [1, 2, 3])
  }

  @Test func `a series that expires keeps what it had`() throws {
    var store = try store(idleExpiry: .seconds(30))
    record(1, in: &store, at: after(0))
    // Seen idle, then expired.
    for slot in [1, 3, 20] as [Int64] { _ = scrape(&store, at: after(slot)) }
    let gone = scrape(&store, at: after(20))
    #expect(gone.isEmpty)
    record(1, in: &store, at: after(21))
    let counts = try window(&store, at: after(21)).slots.map { $0.additions.flatMap(\.counts) }
    #expect(counts == [[1, 0, 0], [1, 0, 0]])
  }

  @Test func `is bounded, and says how much it covers`() throws {
    var store = try store(HistogramBuckets((1...256).map(Double.init)))
    let host = String(repeating: "h", count: 240)
    for slot in 0..<Int64(12) {
      for number in 0..<400 {
        record(1, "\(number)\(host)", .failure(.timeout, statusCode: nil), in: &store, at: after(slot))
      }
    }
    let window = try window(&store, at: after(12))
    #expect((4 * Self.slot...6 * Self.slot).contains(window.covered))
    #expect(window.slots.first?.begin.nanoseconds == after(12).nanoseconds - window.covered)
    #expect(count(window) == 400 * UInt32(window.slots.count))
    let bytes = window.slots.flatMap(\.additions).reduce(0) { $0 + $1.labels.count + 4 * $1.counts.count }
    #expect(bytes <= RequestHistory.byteLimit)
  }

  /// Two examples of each series take some 650 bytes in all: with all examples, which are most of it, two
  /// minutes of this would take 6 MB.
  @Test(arguments: [true, false])
  func `what is kept of requests takes room, and what is forgotten makes it`(areSeriesNew: Bool) throws {
    var store = try store(limit: 20_000)
    for slot in 0..<Int64(24) {
      for number in 0..<400 {
        let host = areSeriesNew ? "\(slot)-\(number)" : "\(number)"
        record(1, host, .failure(.timeout, statusCode: nil), in: &store, at: after(slot))
      }
    }
    let window = try window(&store, at: after(24))
    if areSeriesNew {
      #expect(window.covered > 9 * Self.slot && window.covered < 15 * Self.slot)
    } else {
      #expect(window.covered == 24 * Self.slot && count(window) == 9_600)
    }
  }

  @Test func `series that expire within five seconds take no other with them`() throws {
    var store = try store(idleExpiry: .nanoseconds(1))
    for host in 0..<16 { record(1, "\(host)", in: &store, at: after(0)) }
    for step in Int64(1)...3 {
      let now = Instant(nanoseconds: after(0).nanoseconds + step)
      for host in 0..<8 { record(1, "\(host)", in: &store, at: now) }
      _ = scrape(&store, at: now)
    }
    let counts = try window(&store, at: after(1)).slots.flatMap(\.additions).map(\.counts)
    #expect(counts == Array(repeating: [4, 0, 0], count: 8))
  }

  @Test func `has of a request what the page shows of it`() throws {
    final class Span: Sendable {}
    var store = try store()
    let whole = with(RequestObservation.whole(.outbound, .failure(.timeout, statusCode: 503))) {
      let sent = $0.request.traceContext?.traceparent ?? ""
      $0.request.traceContext = TraceContext(traceparent: sent, span: Span())
    }
    store.end(whole, store.begin(whole.request), at: after(0))
    let window = try window(&store, at: after(0))
    let addition = try #require(window.slots.first?.additions.first)
    for kept in [addition.slowest, addition.newestFailure] {
      let example = try #require(kept)
      #expect(example.nanoseconds == whole.duration.nanoseconds && example.end == whole.endTime)
      #expect(example.statusCode == 503 && example.errorType == "timeout")
      #expect(example.trace == whole.request.traceContext && example.timings == whole.timings)
      #expect(example.cutOffPhase == .processing)
      // The tracer's object goes with its request.
      let span = example.trace?.span
      #expect(span == nil)
    }
  }

  @Test(arguments: RequestDirection.allCases)
  func `is kept only where it is asked for`(direction: RequestDirection) throws {
    let window = try RequestRecorder(registry: Registry()).history(of: direction)
    #expect(window == nil)
  }

  @Test func `takes any time`() throws {
    var store = try store()
    let times: [Int64] = [.min, -1, 0, 1, Self.start.nanoseconds, .max, 5, .min]
    for (number, time) in times.enumerated() {
      record(.max / 1_000_000_000, in: &store, at: Instant(nanoseconds: time))
      for other in times {
        let window = try window(&store, at: Instant(nanoseconds: other))
        #expect(window.covered >= 0 && count(window) <= UInt32(number + 1))
      }
    }
  }
}
