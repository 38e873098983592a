import TestSupport

@testable import TapURLSession

/// The calls within a served request by URLSession, as their server knows them.
struct UpstreamTimeTests {
  /// What passes between a handler and the server that it calls.
  private final class Stage: Sendable {
    let tap: URLSessionTap
    let session: URLSession
    let origin: Origin
    private let arrivals: Watched<[String: Int64]>
    /// `/held` waits for it.
    let mayAnswer = Gate()

    init(_ tap: URLSessionTap) throws {
      let (arrivals, mayAnswer) = (Watched<[String: Int64]>([:]), mayAnswer)
      (self.tap, self.arrivals, session) = (tap, arrivals, tap.session(client: "stock"))
      origin = try Origin { request in
        arrivals.change { $0[request.target] = Instant.now.nanoseconds }
        let path = request.path
        if path.hasSuffix("/moved") { return [.think(Self.time), .redirect(to: "/last\(path.count)")] }
        if path.hasSuffix("/held") { return [.hold(mayAnswer), .response()] }
        return [.think(Self.time), .response(path.hasSuffix("/refused") ? "401 Unauthorized" : "200 OK")]
      }
    }

    /// Milliseconds that the server takes.
    private static let time = 20

    func arrival(of path: String) async throws -> Int64 {
      try await arrivals.wait("the request of \(path)") { $0[path] != nil }
      return arrivals.state[path] ?? 0
    }

    /// A call, and when it was active.
    func call(
      _ path: String, _ change: (inout URLRequest) -> Void = { _ in }
    ) async throws -> (outer: Range<Int64>, inner: Range<Int64>) {
      let before = Instant.now.nanoseconds
      _ = try await session.data(for: with(URLRequest(url: origin.url(path)), change))
      let after = Instant.now.nanoseconds
      let arrival = try await arrival(of: path)
      return (before..<after, arrival..<arrival + Int64(Self.time) * 1_000_000)
    }

    /// Work of the processor.
    func work() {
      let end = Instant.now.advanced(by: .milliseconds(10))
      while Instant.now < end {}
    }
  }

  private typealias Handler = @Sendable (Stage, ActiveRequest, inout TrueCalls) async throws -> Void

  private static let handlers: KeyValuePairs<String, Handler> = [
    "serial 3": { stage, _, calls in
      for number in 0..<3 {
        calls.add(try await stage.call("/\(number)"))
        stage.work()
      }
    },
    "parallel 3": { stage, _, calls in
      async let (one, two) = (stage.call("/1"), stage.call("/2"))
      for call in try await [stage.call("/3"), one, two] { calls.add(call) }
    },
    "overlapping 2": { stage, _, calls in
      async let one = stage.call("/1")
      _ = try await stage.arrival(of: "/1")
      for call in try await [stage.call("/2"), one] { calls.add(call) }
    },
    "redirected 1": { stage, _, calls in calls.add(try await stage.call("/moved")) },
    "challenged 1": { stage, _, calls in calls.add(try await stage.call("/refused")) },
    "with traces of the app's own 2": { stage, _, calls in
      let context = TapRequestContext(traceContext: .random())
      for call in try await [
        stage.call("/1") {
          $0.setValue(TraceContext.random().traceparent, forHTTPHeaderField: "traceparent")
        },
        stage.call("/2") { $0.tapContext = context },
      ] { calls.add(call) }
    },
    "with the served request's trace, in a detached task 1": { stage, served, calls in
      let call = try await Task.detached {
        try await stage.call("/1") { $0.tapContext = TapRequestContext(traceContext: served.trace.child()) }
      }.value
      calls.add(call)
    },
    "detached 0": { stage, _, _ in _ = try await Task.detached { try await stage.call("/1") }.value },
    "cancelled 1": { stage, _, calls in
      let before = Instant.now.nanoseconds
      let task = Task { try await stage.call("/held") }
      let arrival = try await stage.arrival(of: "/held")
      let cancel = Instant.now.nanoseconds
      task.cancel()
      _ = await task.result
      calls.add(outer: before..<Instant.now.nanoseconds, inner: arrival..<cancel)
      stage.work()
    },
    "refused by Foundation 1": { stage, _, calls in
      let before = Instant.now.nanoseconds
      _ = try? await stage.session.data(from: #require(URL(string: "HTTP://host.test/")))
      calls.add(outer: before..<Instant.now.nanoseconds, inner: before..<before)
    },
    "outliving the response 1": { stage, served, calls in
      let before = Instant.now.nanoseconds
      let task = Task { try await stage.call("/held") }
      let arrival = try await stage.arrival(of: "/held")
      let end = Instant.now.nanoseconds
      served.end(statusCode: 200)
      calls.add(outer: before..<Instant.now.nanoseconds, inner: arrival..<end)
      stage.mayAnswer.open()
      _ = try await task.value
    },
    "after the response 0": { stage, served, _ in
      served.end(statusCode: 200)
      _ = try await stage.call("/1")
    },
  ]

  @Test func `is what the server knows, and each call counts once`() async throws {
    let (tap, observer) = URLSessionTap.observed()
    var (found, truths) = ([String](), [String: TrueCalls]())
    for (name, handle) in Self.handlers {
      let stage = try Stage(tap)
      truths[name] = try await tap.recorder.inbound.withRequest(method: "GET", path: name) { served in
        var calls = TrueCalls()
        try await handle(stage, served, &calls)
        served.end(statusCode: 200)
        return calls
      }
      stage.session.finishTasksAndInvalidate()
    }
    tap.flush()
    for served in observer.ended where served.request.direction == .inbound {
      let (time, truth) = (served.upstream, truths[served.request.url] ?? TrueCalls())
      let clients = time?.clients ?? [UpstreamTime.Client(name: "stock")]
      found.append(served.request.url.prefix { !$0.isNumber } + "\(clients.map(\.requestCount))")
      let sum = clients.reduce(.zero) { $0 + $1.duration }
      #expect(truth.union.contains(time?.duration ?? .zero), "\(served)")
      #expect(truth.sum.contains(sum) && clients.map(\.name) == ["stock"], "\(served)")
      #expect((time?.duration ?? .zero) + (served.ownTime ?? .zero) == served.duration)
    }
    let expected = Self.handlers.map { "\($0.key.dropLast())[\($0.key.suffix(1))]" }
    #expect(found.sorted() == expected.sorted())
  }

  /// Under the name that the tap of the served request has for the session.
  @Test(arguments: [[0, 1], [1, 0]])
  func `a call that two taps record is one`(order: [Int]) async throws {
    let observers = [RecordingObserver(), RecordingObserver()]
    let taps = observers.map { URLSessionTap(observers: [$0]) }
    let origin = try Origin { _ in [.response()] }
    let configuration = order.reduce(.ephemeral) {
      taps[$1].sessionConfiguration(from: $0, client: "client of tap \($1)")
    }
    let session = URLSession(configuration: configuration)
    for tap in taps {
      try await tap.recorder.inbound.withRequest(method: "GET", path: "/") { served in
        for _ in 0..<3 { _ = try await session.data(from: origin.url()) }
        served.end(statusCode: 200)
      }
    }
    session.finishTasksAndInvalidate()
    let clients = zip(taps, observers).map { tap, observer in
      tap.flush()
      return observer.ended.compactMap(\.upstream).map { $0.clients.map { "\($0.name): \($0.requestCount)" } }
    }
    #expect(clients == [[["client of tap 0: 3"]], [["client of tap 1: 3"]]])
  }

  /// A served request that the app makes of itself has the calls that are made within it, and is one itself.
  @Test func `a call belongs to the innermost served request`() async throws {
    let (tap, observer) = URLSessionTap.observed()
    let (session, inbound, outbound) = (
      tap.session(client: "self"), tap.recorder.inbound, tap.recorder.outbound
    )
    let origin = try Origin { request in
      let served = inbound.begin(
        method: "GET", path: "/inner", traceparent: request.headers["traceparent"])
      TraceContext.$current.withValue(served.trace) {
        for _ in 0..<2 { outbound.begin(client: "stock", method: "GET", url: "/").end(statusCode: 200) }
      }
      served.end(statusCode: 200)
      return [.response()]
    }
    try await inbound.withRequest(method: "GET", path: "/outer") { served in
      _ = try await session.data(for: .traced(origin.url()))
      served.end(statusCode: 200)
    }
    session.finishTasksAndInvalidate()
    tap.flush()
    let clients = observer.ended.filter { $0.request.direction == .inbound }.map { served in
      "\(served.request.url) "
        + (served.upstream?.clients ?? []).map { "\($0.name) \($0.requestCount)" }.joined()
    }
    #expect(clients.sorted() == ["/inner stock 2", "/outer self 1"])
  }
}

extension TrueCalls {
  fileprivate mutating func add(_ call: (outer: Range<Int64>, inner: Range<Int64>)) {
    add(outer: call.outer, inner: call.inner)
  }
}
