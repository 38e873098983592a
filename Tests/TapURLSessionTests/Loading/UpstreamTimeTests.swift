import TestSupport

@testable import TapURLSession

/// Which calls by URLSession are those of a served request. Their time is computed in `ServedCalls`.
struct UpstreamTimeTests {
  /// Such as `/inner: stock 2`: each served request, and how many calls of each client it has.
  private static func calls(_ observer: RecordingObserver) -> [String] {
    observer.ended.filter { $0.request.direction == .inbound }.map { served in
      let clients = (served.upstream?.clients ?? []).map { "\($0.name) \($0.requestCount)" }
      return "\(served.request.url): \(clients.joined(separator: ", "))"
    }
  }

  /// A handler's session, and the server that it calls.
  private struct Upstream {
    let session: URLSession
    let origin: Origin
    /// The server has a request of `/held`, and may answer it.
    let isHeld = Gate()
    let goOn = Gate()
    /// The milliseconds that each answer takes.
    static let time = 20

    init(_ tap: URLSessionTap) throws {
      session = tap.session(client: "stock")
      origin = try Origin { [isHeld, goOn] request in
        switch request.path {
        case "/moved": [.think(Self.time), .redirect(to: "/")]
        case "/held": [.signal(isHeld), .hold(goOn)]
        default: [.think(Self.time), .response()]
        }
      }
    }

    func call(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) async throws {
      _ = try await session.data(for: with(URLRequest(url: origin.url(path)), change))
    }
  }

  private typealias Handler = @Sendable (Upstream, ActiveRequest) async throws -> Void

  private static let handlers: KeyValuePairs<String, Handler> = [
    "/serial: stock 2": { upstream, _ in for path in ["/", "/moved"] { try await upstream.call(path) } },
    "/with-own-traces: stock 2": { upstream, _ in
      try await upstream.call("/") {
        $0.setValue(TraceContext.random().traceparent, forHTTPHeaderField: "traceparent")
      }
      try await upstream.call("/") { $0.tapContext = TapRequestContext(traceContext: .random()) }
    },
    "/detached-in-its-trace: stock 1": { upstream, served in
      let context = TapRequestContext(traceContext: served.trace.child())
      try await Task.detached { try await upstream.call("/") { $0.tapContext = context } }.value
    },
    "/detached: ": { upstream, _ in try await Task.detached { try await upstream.call("/") }.value },
    "/cancelled: stock 1": { upstream, _ in
      let task = Task { try await upstream.call("/held") }
      try await upstream.isHeld.wait("the request")
      task.cancel()
      _ = await task.result
      upstream.goOn.open()
    },
    "/refused-by-Foundation: stock 1": { upstream, _ in
      _ = try? await upstream.session.data(from: #require(URL(string: "HTTP://host.test/")))
    },
  ]

  @Test func `each call within a served request is one of its`() async throws {
    let (tap, observer) = URLSessionTap.observed()
    for (expected, handle) in Self.handlers {
      let upstream = try Upstream(tap)
      let path = String(expected.prefix { $0 != ":" })
      try await tap.recorder.inbound.withRequest(method: "GET", path: path) { served in
        try await handle(upstream, served)
        served.end(statusCode: 200)
      }
      upstream.session.finishTasksAndInvalidate()
    }
    tap.flush()
    expectEqual(Self.calls(observer), Self.handlers.map(\.key))
    let serial = try #require(observer.ended.first { $0.request.url == "/serial" })
    let time = try #require(serial.upstream?.duration)
    // A redirect that is followed is of the same call.
    #expect(time >= .milliseconds(3 * Upstream.time) && time <= serial.duration)
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
    for tap in taps { tap.flush() }
    expectEqual(observers.map(Self.calls), [["/: client of tap 0 3"], ["/: client of tap 1 3"]])
  }

  /// A served request that the app makes of itself has the calls that are made within it, and is one itself.
  @Test func `a call belongs to the innermost served request`() async throws {
    let (tap, observer) = URLSessionTap.observed()
    let (inbound, outbound) = (tap.recorder.inbound, tap.recorder.outbound)
    let origin = try Origin { request in
      let served = inbound.begin(
        method: "GET", path: "/inner", traceparent: request.headers["traceparent"])
      TraceContext.$current.withValue(served.trace) {
        for _ in 0..<2 { outbound.begin(client: "stock", method: "GET", url: "/").end(statusCode: 200) }
      }
      served.end(statusCode: 200)
      return [.response()]
    }
    let session = tap.session(client: "self")
    try await inbound.withRequest(method: "GET", path: "/outer") { served in
      _ = try await session.data(for: .traced(origin.url()))
      served.end(statusCode: 200)
    }
    session.finishTasksAndInvalidate()
    tap.flush()
    expectEqual(Self.calls(observer).sorted(), ["/inner: stock 2", "/outer: self 1"])
  }
}
