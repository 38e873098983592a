import TestSupport

@testable import TapCore

/// Whose time that of a served request was: by instants of the test's own, and through the requests.
struct ServedCallsTests {
  private let observer = RecordingObserver()
  private let registry = Registry()
  private let another: RequestRecorder

  init() throws { another = try RequestRecorder(registry: Registry(), consumers: [observer]) }

  private func recorder(limit: Int = 2_000, keepsHistory: Bool = false) throws -> RequestRecorder {
    let inbound = with(RequestConfiguration()) {
      ($0.series, $0.durationBuckets) = (.init(limit: limit), [1_000])
    }
    return try RequestRecorder(
      registry: registry, inbound: inbound, consumers: [observer], keepsHistory: keepsHistory)
  }

  /// A served request, and a call of a client within it.
  private func serve(by recorder: RequestRecorder) -> (
    RequestRecord, call: @Sendable (String) -> RequestDescription
  ) {
    let served = RequestRecord(
      RequestDescription(direction: .inbound, method: "GET", traceContext: .random()), recorder: recorder)
    served.begin(at: Instant(nanoseconds: 0))
    let trace = TraceContext.random().within(served)
    return (served, { RequestDescription(client: $0, method: "GET", traceContext: trace) })
  }

  /// `10+a` is the begin of a call of the client `a` at 10, `20-a` the end of its oldest, `30|` that of the
  /// served request, which has begun at 0.
  private func time(_ events: String) throws -> String {
    let (served, call) = serve(by: another)
    var begun: [String: [ServedCall]] = [:]
    for event in events.split(separator: " ") {
      let (now, client) = (
        Instant(nanoseconds: Int64(event.prefix { $0.isNumber }) ?? 0), String(event.suffix(1))
      )
      switch event.drop(while: \.isNumber).first {
      case "+": if let call = ServedCall(call(client), at: now) { begun[client, default: []].append(call) }
      case "-": if begun[client]?.isEmpty == false { begun[client]?.removeFirst().leave(at: now) }
      default: served.end(.cancelled, at: now)
      }
    }
    another.drain()
    return text(try #require(observer.ended.last).upstream)
  }

  /// Such as `30: a 2 40, b 1 10`: the time, and of each client the calls and the sum of their durations.
  private func text(_ time: UpstreamTime?) -> String {
    guard let time else { return "none" }
    let clients = time.clients.map { "\($0.name) \($0.requestCount) \($0.nanoseconds)" }
    return "\(time.nanoseconds): " + clients.joined(separator: ", ")
  }

  @Test func `the time in which at least one call was active, and the calls of each client`() throws {
    let rows = [
      ("10|", "none"),
      ("10+a 20-a 30|", "10: a 1 10"),
      // Serial, parallel, overlapping, within each other.
      ("10+a 20-a 30+a 45-a 60|", "25: a 2 25"),
      ("10+a 10+b 10+a 40-a 40-b 40-a 60|", "30: a 2 60, b 1 30"),
      ("10+a 20+b 30-a 40-b 60|", "30: a 1 20, b 1 20"),
      ("10+a 20+b 30-b 40-a 60|", "30: a 1 30, b 1 10"),
      ("10+a 20-a 20+a 25-a 60|", "15: a 2 15"),
      // Those that are active at the end count until then, and what comes later does not.
      ("10+a 20-a 90+b 95+b 100|", "20: a 1 10, b 2 15"),
      ("10+a 20| 30-a 40+b 50-b", "10: a 1 10"),
      ("10| 20+a 30-a", "none"),
      // Threads that come in another order than they have read the clock in.
      ("10+a 9-a 8+a 12-a 60|", "3: a 2 3"), ("20+a 10+b 50-a 40-b 60|", "40: a 1 30, b 1 30"),
      ("0+a 30-a 20|", "20: a 1 30"), ("30+a 20|", "0: a 1 0"),
      ("10+a 20-a 30+a 15+b 40-a 41-b 60|", "31: a 2 20, b 1 26"),
      ("10+a 10+b 40-a 30-b 35+a 50-a 60|", "40: a 2 45, b 1 20"),
      ("9223372036854775000+a 9223372036854775000+a 9223372036854775807|", "807: a 2 1614"),
    ]
    let times = try rows.map { try time($0.0) }
    #expect(times == rows.map(\.1))
  }

  @Test func `names no more than 64 clients`() throws {
    var calls = ServedCalls()
    for number in 0..<1_000 {
      let index = calls.enter("client \(number)", at: Instant(nanoseconds: 0))
      calls.leave(index, at: Instant(nanoseconds: 2))
    }
    let time = try #require(calls.time(at: Instant(nanoseconds: 5)))
    #expect((time.requestCount, time.clients.count, time.nanoseconds) == (1_000, 65, 2))
    #expect(text(time).hasSuffix("client 63 1 2, _OTHER 936 1872"))
  }

  /// Foundation may start a loader that it has stopped.
  @Test func `a call that was given up and begins after all is one call`() throws {
    let (served, call) = serve(by: another)
    let record = RequestRecord(call("c"), recorder: another)
    record.end(.cancelled, at: .now)
    let before = try #require(served.withCalls { $0.time(at: .now) } ?? nil)
    let start = Instant.now
    record.begin(at: start)
    record.end(.response(statusCode: 200), at: start.advanced(by: .seconds(7)))
    let after = try #require(served.withCalls { $0.time(at: .now) } ?? nil)
    #expect(after.duration - before.duration == .seconds(7))
    #expect((after.requestCount, after.clients.first?.activeCount) == (1, 0))
  }

  @Test func `a trace passes them on to what is made within it, and nothing longer`() throws {
    let recorder = try recorder()
    let served = recorder.inbound.begin(method: "GET", path: "/")
    let other = recorder.inbound.begin(method: "GET", path: "/")
    let record = try #require(served.trace.served)
    let within = TraceContext.$current.withValue(served.trace) {
      [
        served.trace.child(), .next(), .next(in: served.trace), TraceContext.ofCurrentWork,
        // Where the app gives a trace of its own, by that of the task.
        recorder.outbound.begin(client: "c", method: "GET", url: "/", trace: .random()).trace,
        recorder.outbound.begin(client: "c", method: "GET", url: "/", trace: other.trace.child()).trace,
      ]
    }
    let explicit = recorder.outbound.begin(client: "c", method: "GET", url: "/", trace: served.trace.child())
      .trace
    // What is served does not keep itself.
    let without = [
      record.description.traceContext, served.trace.withoutSpan, .next(),
      TraceContext(traceparent: served.trace.traceparent),
      recorder.outbound.begin(client: "c", method: "GET", url: "/").trace,
    ]
    #expect((within + [explicit]).allSatisfy { $0?.served === record } && other.trace.served !== record)
    #expect(without.allSatisfy { $0 != nil && $0?.served == nil })
    #expect(served.trace == served.trace.withoutSpan)
  }

  @Test func `have metrics by route and client, in the ended request and the active one`() throws {
    let recorder = try recorder(keepsHistory: true)
    func serve(_ route: String?, _ clients: [String]) {
      let served = recorder.inbound.begin(method: "GET", path: "/", route: route)
      let calls = TraceContext.$current.withValue(served.trace) {
        clients.map { recorder.outbound.begin(client: $0, method: "GET", url: "http://a/") }
      }
      if let last = calls.last {
        let active = recorder.activeRequests()
        let inner = active.filter { call in active.contains { call.isMade(within: $0) } }
        #expect(inner.map(\.request.client) == clients)
        last.end(statusCode: 200)
        for call in calls { call.end(statusCode: 200) }
      }
      served.end(statusCode: 200)
    }
    serve("/a", ["x", "y", "x"])
    serve("/a", ["x"])
    serve("/b", [])
    serve(nil, ["y"])
    recorder.drain()
    let ended = observer.ended.filter { $0.request.direction == .inbound }
    #expect(ended.map { $0.upstream?.requestCount } == [3, 1, nil, 1])
    #expect(ended.allSatisfy { ($0.upstream?.duration ?? .zero) <= $0.duration })
    let values = registry.lines.values.filter { $0.key.hasPrefix("http_server_") }
    func value(_ series: String) -> Double? { values["http_server_" + series] }
    let counts: [Double?] = [
      value(#"upstream_requests_total{client="x",http_route="/a"}"#),
      value(#"upstream_requests_total{client="y",http_route="/a"}"#),
      value(#"upstream_requests_total{client="y"}"#),
      value(#"request_upstream_seconds_count{http_route="/a"}"#),
      value(#"request_upstream_seconds_count{http_route="/b"}"#),
    ]
    expectEqual(counts, [3, 1, 1, 2, nil])
    func seconds(_ route: String?) -> Double {
      ended.filter { $0.request.urlTemplate == route }.reduce(0) { $0 + ($1.upstream?.duration.seconds ?? 0) }
    }
    let sums: [Double?] = [
      value(#"request_upstream_seconds_sum{http_route="/a"}"#), value("request_upstream_seconds_sum"),
      value(#"upstream_request_seconds_total{client="y"}"#),
    ]
    expectEqual(sums, [seconds("/a"), seconds(nil), seconds(nil)])
    let slots = try #require(recorder.history(of: .inbound)).slots.flatMap(\.upstream)
    let history = slots.filter { $0.key.path == "/a" }.map(\.value)
    let clients = history.flatMap(\.clients).reduce(into: [:]) { $0[$1.name, default: 0] += $1.requestCount }
    #expect(clients == ["x": 3, "y": 1])
    let times: [Double] = ["x", "y"].map { name in
      history.flatMap(\.clients).reduce(0) { $0 + ($1.name == name ? $1.duration.seconds : 0) }
    }
    let totals: [Double] = ["x", "y"].map { name in
      value(#"upstream_request_seconds_total{client="\#(name)",http_route="/a"}"#) ?? .nan
    }
    let upstream: Double = history.reduce(0) { $0 + $1.duration.seconds }
    let known: [Double] = times + [upstream]
    let expected: [Double] = totals + [seconds("/a")]
    let errors: [Double] = zip(known, expected).map { abs($0 - $1) }
    #expect(errors.allSatisfy { $0 < 1e-9 }, "\(errors)")
  }

  @Test func `are bounded as all series are, and what has no room is in no one's history`() throws {
    let recorder = try recorder(limit: 2, keepsHistory: true)
    for number in 0..<5 {
      let served = recorder.inbound.begin(method: "GET", path: "/", route: "/\(number)")
      for client in ["a", "b"] {
        recorder.outbound.begin(client: client, method: "GET", url: "/", trace: served.trace.child()).end(
          statusCode: 200)
      }
      served.end(statusCode: 200)
    }
    let overflow = ["otel_metric_overflow": "true"]
    let values: [Double?] = ["request_upstream_seconds_count", "upstream_requests_total"].map {
      registry.value(of: "http_server_" + $0, labels: overflow)
    }
    expectEqual(values, [3, 8])
    let history = try #require(recorder.history(of: .inbound))
    let slots = history.slots.flatMap(\.upstream)
    expectEqual(Set(slots.map(\.key.path)), ["/0", "/1"])
    expectEqual(slots.flatMap(\.value.clients).map(\.requestCount), [1, 1])
  }

  @Test func `each call of any thread is counted, and none is active after its end`() throws {
    let (served, call) = serve(by: another)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for _ in 0..<1_000 {
        let record = RequestRecord(call("\(thread % 3)"), recorder: another)
        record.begin()
        record.end(.response(statusCode: 200))
      }
    }
    let now = Instant.now
    let time = try #require(served.withCalls { $0.time(at: now) } ?? nil)
    let clients = time.clients.sorted { $0.name < $1.name }
    expectEqual(clients.map(\.requestCount), [3_000, 3_000, 2_000])
    expectEqual(clients.map(\.activeCount), [0, 0, 0])
  }

  @Test func `10,000 served requests, 16 wide, have each its own`() async throws {
    let recorder = try recorder()
    let truths = Watched<[Int64: (calls: TrueCalls, clients: [String])]>([:])
    await withTaskGroup(of: Void.self) { group in
      for lane in 0..<16 {
        group.addTask {
          for number in Int64(0)..<10_000 where number % 16 == lane {
            let truth = await Self.serve(number, by: recorder)
            truths.change { $0[number] = truth }
          }
        }
      }
    }
    recorder.drain()
    let truth = truths.state
    let ended = observer.ended.filter { $0.request.direction == .inbound }
    let wrong = ended.filter { served in
      guard case .integer(let number)? = served.request.fields["n"], let truth = truth[number] else {
        return true
      }
      let clients = served.upstream?.clients ?? []
      let names = clients.flatMap { Array(repeating: $0.name, count: $0.requestCount) }
      let (time, sum) = (served.upstream?.duration ?? .zero, clients.reduce(.zero) { $0 + $1.duration })
      return !truth.calls.union.contains(time) || !truth.calls.sum.contains(sum)
        || names.sorted() != truth.clients.sorted() || time > served.duration
    }
    expectEqual([ended.count, wrong.count], [10_000, 0], "\(wrong.prefix(1))")
  }

  /// Calls one after another, beside each other, or none. No other request with as many has the same clients.
  private static func serve(
    _ number: Int64, by recorder: RequestRecorder
  ) async -> (calls: TrueCalls, clients: [String]) {
    @Sendable func call(_ client: String) async -> (outer: Range<Int64>, inner: Range<Int64>) {
      let before = Instant.now.nanoseconds
      let call = recorder.outbound.begin(client: client, method: "GET", url: "http://a/")
      let begun = Instant.now.nanoseconds
      for _ in 0..<number % 7 { await Task.yield() }
      let ending = Instant.now.nanoseconds
      call.end(statusCode: 200)
      return (before..<Instant.now.nanoseconds, begun..<ending)
    }
    let clients = (0..<number % 5).map { "client \((number + $0) % 11)" }
    return await recorder.inbound.withRequest(
      method: "GET", path: "/", route: "/\(number % 3)", fields: ["n": .integer(number)]
    ) { served in
      var calls = TrueCalls()
      if number.isMultiple(of: 2) {
        for client in clients {
          let (outer, inner) = await call(client)
          calls.add(outer: outer, inner: inner)
        }
      } else {
        await withTaskGroup { group in
          for client in clients { group.addTask { await call(client) } }
          for await (outer, inner) in group { calls.add(outer: outer, inner: inner) }
        }
      }
      // Of no served request.
      await Task.detached { _ = await call("detached") }.value
      served.end(statusCode: 200)
      return (calls, clients)
    }
  }
}

/// When calls were active, as a test knows it, in nanoseconds: no longer than from before the app made them
/// until it had their ends, and no shorter than the server had them.
private struct TrueCalls: Sendable {
  private var outer: [Range<Int64>] = []
  private var inner: [Range<Int64>] = []

  mutating func add(outer: Range<Int64>, inner: Range<Int64>) {
    self.outer.append(outer)
    self.inner.append(inner)
  }

  /// The time in which at least one was active.
  var union: ClosedRange<Duration> {
    let least = Self.union(of: inner)
    return least...max(least, Self.union(of: outer))
  }

  /// The sum of their times.
  var sum: ClosedRange<Duration> {
    func sum(_ times: [Range<Int64>]) -> Duration { .nanoseconds(times.reduce(0) { $0 + Int64($1.count) }) }
    return sum(inner)...max(sum(inner), sum(outer))
  }

  private static func union(of times: [Range<Int64>]) -> Duration {
    var (sum, end) = (Int64(0), Int64.min)
    for time in times.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      sum += max(0, time.upperBound - max(end, time.lowerBound))
      end = max(end, time.upperBound)
    }
    return .nanoseconds(sum)
  }
}
