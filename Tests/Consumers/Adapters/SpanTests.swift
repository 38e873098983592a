import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import Instrumentation
import SessionTap
import TapCore
import TapHummingbird
import TapTesting
import TapTracing
import Testing
import Tracing

/// The spans of requests. One test at a time: the newest tap with a tracer makes those of URLSessions.
@Suite(.serialized) struct SpanTests {
  /// A tracer that keeps its spans, with ids and a header of W3C Trace Context.
  private struct MemoryTracer: Tracer {
    let memory = InMemoryTracer(
      idGenerator: .init(
        nextTraceID: { TraceContext.random().traceID }, nextSpanID: { TraceContext.random().spanID }))

    func startSpan<Instant: TracerInstant>(
      _ name: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
      at instant: @autoclosure () -> Instant, function: String, file: String, line: UInt
    ) -> InMemorySpan {
      memory.startSpan(
        name, context: context(), ofKind: kind, at: instant(), function: function, file: file, line: line)
    }

    func extract<Carrier, Extract: Extractor>(
      _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
      let header = extractor.extract(key: "traceparent", from: carrier)
      guard let trace = header.flatMap({ TraceContext(traceparent: $0) }) else { return }
      context.inMemorySpanContext = .init(traceID: trace.traceID, spanID: trace.spanID, parentSpanID: nil)
    }

    func inject<Carrier, Inject: Injector>(
      _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
      guard let span = context.inMemorySpanContext else { return }
      injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    func forceFlush() {}
  }

  private let tracer = MemoryTracer()
  /// Other tests run beside these, and their requests have spans of this tracer: not in this trace.
  private let root = TraceContext.random(isSampled: true)

  var ended: [FinishedInMemorySpan] { tracer.memory.finishedSpans.filter { $0.traceID == root.traceID } }
  private var active: [InMemorySpan] { tracer.memory.activeSpans.filter { $0.traceID == root.traceID } }

  /// As in the consumer of a queue, which extracts a context and knows neither the tap nor a tracer.
  @Test func `without a tracer, a request within a context has the context's trace`() async throws {
    let tap = try Tap.testing()
    let session = tap.session(client: "plain")
    let url = try #require(URL(string: "http://127.0.0.1:1/"))
    var context = ServiceContext.topLevel
    TapInstrument().extract(["traceparent": root.traceparent], into: &context, using: Headers())
    await ServiceContext.$current.withValue(context) {
      #expect(TraceContext.current == nil)
      _ = try? await session.data(from: url)
      _ = try? await session.data(for: .traced(url))
    }
    _ = try? await session.data(from: url)
    let traces = tap.recordedRequests().map(\.request.traceContext)
    #expect(traces.map { $0?.traceID } == [root.traceID, root.traceID, nil])
    #expect(!traces.contains { $0?.spanID == root.spanID })
    await tap.shutdown()
  }

  private struct Headers: Extractor {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
  }

  private func tap(_ change: (inout Tap.Configuration) -> Void = { _ in }) throws -> Tap {
    try .testing { configuration in
      configuration.tracer = TapTracer(tracer)
      change(&configuration)
    }
  }

  /// Spans without a request end in a task.
  private func waitForEnds(_ count: Int) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while ended.count < count, ContinuousClock.now < deadline { await Task.yield() }
    try #require(ended.count == count && active.isEmpty)
  }

  private func attributes(_ span: FinishedInMemorySpan) -> [String: String] {
    var texts: [String: String] = [:]
    span.attributes.forEach { name, value in
      switch value {
      case .string(let text): texts[name] = text
      case .int64(let number): texts[name] = "\(number)"
      default: Issue.record("\(name) is \(value)")
      }
    }
    return texts
  }

  @Test func `a request of a session has a client span, under the ids that it sends`() async throws {
    let server = try await OddServer.start { _ in [.response(body: "hello")] }
    let tap = try tap { $0.outbound.pathTemplates = ["/users/{id}"] }
    let url = try #require(URL(string: "http://ann:secret@127.0.0.1:\(server.port)/users/7?key=secret"))
    let session = tap.session(client: "users")
    _ = try await TraceContext.$current.withValue(root) { try await session.data(for: .traced(url)) }
    await tap.shutdown()
    try await server.stop()

    let span = try #require(ended.first)
    let request = try #require(tap.recordedRequests().first)
    #expect(ended.count == 1 && active.isEmpty)
    #expect(
      server.requests.map { $0.head.headers["traceparent"] } == [["00-\(span.traceID)-\(span.spanID)-01"]])
    #expect(request.request.traceContext?.spanID == span.spanID)
    #expect(span.parentSpanID == root.spanID)
    #expect(span.kind == .client && span.operationName == "GET /users/{id}" && span.status == nil)
    var expected = [
      "http.request.method": "GET", "http.response.status_code": "200", "server.address": "127.0.0.1",
      "server.port": "\(server.port)", "url.template": "/users/{id}", "http.response.body.size": "5",
      "url.full": "http://127.0.0.1:\(server.port)/users/7?key=REDACTED", "http.request.body.size": "0",
    ]
    if request.protocolVersion != nil { expected["network.protocol.version"] = "1.1" }
    if request.peerAddress != nil { expected["network.peer.address"] = "127.0.0.1" }
    #expect(attributes(span) == expected)
    let (begin, end) = (request.start.nanosecondsSinceEpoch, span.endInstant.nanosecondsSinceEpoch)
    #expect(span.startInstant.nanosecondsSinceEpoch <= begin && UInt64(begin) <= end)
    let times = span.events.map(\.nanosecondsSinceEpoch)
    #expect(times == times.sorted() && times.allSatisfy { $0 <= end })
    #expect(span.events.isEmpty == (request.timings[.processing] == nil))
  }

  /// `withTracer` of swift-distributed-tracing 1.7, also where Foundation makes the loader on another thread.
  @Test func `without a tracer of its own, a request has that of the innermost scope`() async throws {
    let server = try await OddServer.start { _ in [.response()] }
    let tap = try Tap.testing { $0.tracer = TapTracer() }
    let url = try #require(URL(string: server.url()))
    let (session, outer, inner) = (tap.session(client: "users"), tracer, MemoryTracer())
    let root = root
    @Sendable func work() async throws {
      var topLevel = ServiceContext.topLevel
      topLevel.inMemorySpanContext = .init(traceID: root.traceID, spanID: root.spanID, parentSpanID: nil)
      try await withSpan("work", context: topLevel, ofKind: .internal) { _ in
        _ = try await session.data(from: url)
        _ = try await session.data(for: .traced(url))
      }
    }
    try await withTracer(outer) {
      try await work()
      try await withTracer(inner) { try await work() }
    }
    _ = try await session.data(for: .traced(url))
    await tap.shutdown()
    try await server.stop()
    for tracer in [outer, inner] {
      let spans = tracer.memory.finishedSpans.filter { $0.traceID == root.traceID }
      let parent = spans.first { $0.operationName == "work" }?.spanID
      #expect(spans.filter { $0.kind == .client && $0.parentSpanID == parent }.count == 2 && spans.count == 3)
    }
    // With no tracer at all there are ids, and no span.
    #expect(tap.recordedRequests().map { $0.request.traceContext != nil } == [true, true, true, true, true])
  }

  /// Nor does the app ask for it, nor does it send anything.
  @Test func `a plain call of a session has a client span under the span around it`() async throws {
    let server = try await OddServer.start { _ in [.response()] }
    let (tap, tracer) = (try tap(), tracer)
    let url = try #require(URL(string: server.url()))
    let session = tap.session(client: "users")
    var topLevel = ServiceContext.topLevel
    topLevel.inMemorySpanContext = .init(traceID: root.traceID, spanID: root.spanID, parentSpanID: nil)
    try await tracer.withSpan("work", context: topLevel, ofKind: .internal) { _ in
      _ = try await session.data(from: url)
    }
    _ = try await session.data(from: url)
    await tap.shutdown()
    try await server.stop()

    let work = try #require(ended.first { $0.kind == .internal })
    let client = try #require(ended.first { $0.kind == .client })
    #expect(ended.count == 2 && active.isEmpty)
    #expect(client.parentSpanID == work.spanID && attributes(client)["url.full"] == server.url())
    let traces = tap.recordedRequests().map(\.request.traceContext)
    #expect(traces.map(\.?.spanID) == [client.spanID, nil])
    #expect(server.requests.map { $0.head.headers["traceparent"] } == [[], []])
  }

  @Test func `an error is the status`() async throws {
    let server = try await OddServer.start { _ in [.response("404 Not Found")] }
    let refusing = try RefusingPort()
    let tap = try tap()
    let session = tap.session(client: "users")
    let urls = [server.url("/none"), "http://127.0.0.1:\(refusing.port)/"].compactMap(URL.init(string:))
    for url in urls {
      _ = try? await TraceContext.$current.withValue(root) { try await session.data(for: .traced(url)) }
    }
    await tap.shutdown()
    try await server.stop()
    #expect(ended.map(\.status) == [.init(code: .error), .init(code: .error, message: "connect")])
    #expect(ended.map { attributes($0)["error.type"] } == ["404", "connect"])
    #expect(active.isEmpty)
  }

  @Test func `a request that is not sent, or not recorded, leaves no span open`() async throws {
    let server = try await OddServer.start { _ in [.response()] }
    let tap = try tap { $0.outbound.filter = { $0.serverAddress != "127.0.0.1" } }
    let url = try #require(URL(string: server.url()))
    _ = TraceContext.$current.withValue(root) { URLRequest.traced(url) }
    try await waitForEnds(1)
    try await TraceContext.$current.withValue(root) {
      let session = tap.session(client: "users")
      _ = try await session.data(for: .traced(url))
      session.invalidateAndCancel()
    }
    await tap.shutdown()
    try await server.stop()
    try await waitForEnds(2)
    #expect(ended.allSatisfy { attributes($0).isEmpty })
  }

  @Test(arguments: HummingbirdTests.Way.allCases)
  func `a request that the app serves has a server span, and what it does is within`(
    way: HummingbirdTests.Way
  ) async throws {
    let (tap, tracer) = (try tap(), tracer)
    let router = Router()
    if way == .middleware { router.add(middleware: TapMiddleware(tap)) }
    router.get("users/{id}") { _, _ in
      let work = tracer.startSpan("work", ofKind: .internal)
      work.end()
      tap.outbound.begin(client: "other", method: "BREW", url: "http://a.example/pot").end(statusCode: 500)
      return work.parentSpanID ?? ""
    }
    let app: any ApplicationProtocol =
      way == .server ? Application(router: router, observedBy: tap) : Application(router: router)
    let name = try #require(HTTPField.Name("traceparent"))
    try await app.test(.ahc(.http)) { client in
      let response = try await client.execute(
        uri: "/users/7?a=b", method: .get, headers: [name: root.traceparent])
      #expect(response.status == .ok)
    }
    await tap.shutdown()

    let server = try #require(ended.first { $0.kind == .server })
    #expect(
      server.parentSpanID == root.spanID && server.operationName == "GET /users/{id}" && server.status == nil)
    var expected = [
      "http.request.method": "GET", "http.response.status_code": "200", "http.route": "/users/{id}",
      "url.path": "/users/7", "url.scheme": "http",
    ]
    // A middleware of Hummingbird's does not see it.
    if way == .server { expected["network.protocol.version"] = "1.1" }
    #expect(attributes(server).filter { $0.key != "http.response.body.size" } == expected)
    let client = try #require(ended.first { $0.kind == .client })
    #expect(client.operationName == "HTTP" && client.status == .init(code: .error))
    #expect(attributes(client)["http.request.method_original"] == "BREW")
    let work = try #require(ended.first { $0.kind == .internal })
    #expect([client, work].allSatisfy { $0.parentSpanID == server.spanID })
    #expect(active.isEmpty)
  }

  @Test func `calls belong to the served request, also where only the context of a span says so`()
    async throws
  {
    let server = try await OddServer.start { _ in [.response()] }
    let (tap, tracer) = (try tap(), tracer)
    let url = try #require(URL(string: server.url()))
    let session = tap.session(client: "users")
    _ = TapInstrument()
    await tap.inbound.withRequest(method: "GET", path: "/", traceparent: root.traceparent) { served in
      @Sendable func call() async {
        _ = try? await session.data(from: url)
        _ = try? await session.data(for: .traced(url))
        let own = TraceContext.random()
        for trace in [own, .next()] {
          tap.outbound.begin(client: "other", method: "GET", url: "http://a.example/", trace: trace)
            .end(statusCode: 200)
        }
      }
      await ServiceContext.withTrace(served.trace) {
        await tracer.withSpan("work", ofKind: .internal) { _ in await call() }
      }
      var context = ServiceContext.topLevel
      context.trace = served.trace
      await Task.detached { [context] in
        await call()
        await ServiceContext.$current.withValue(context) { await call() }
      }.value
      served.end(statusCode: 200)
    }
    await tap.shutdown()
    try await server.stop()
    let served = try #require(tap.recordedRequests().first { $0.request.direction == .inbound }?.upstream)
    #expect(served.clients.map { "\($0.name) \($0.requestCount)" } == ["users 4", "other 4"])
  }

  @Test func `a tracer without traceparent has spans of requests, whose ids are the tap's`() async throws {
    let memory = InMemoryTracer()
    let tap = try Tap.testing { $0.tracer = TapTracer(memory) }
    let request = TraceContext.$current.withValue(root) {
      tap.outbound.begin(client: "other", method: "GET", url: "http://a.example/")
    }
    #expect(request.trace.traceID == root.traceID && request.trace != root)
    request.end(statusCode: 200)
    await tap.shutdown()
    #expect(memory.finishedSpans.contains { attributes($0)["url.full"] == "http://a.example/" })
  }

  private typealias Phases = [(RequestTimings.Phase, Int)]

  /// Phases and their lengths, the time to the first byte and the duration, in milliseconds; and when the
  /// events are.
  @Test(
    arguments: [
      ([(.resolve, 1), (.connect, 2), (.processing, 30), (.transfer, 5)], 40, 60, [7, 8, 10, 40]),
      ([(.queue, 10), (.processing, 30), (.transfer, 5), (.local, 9)], 40, 60, [0, 10, 40]),
      ([(.upload, 20), (.response, 40)], nil, 60, [0, 20]), ([(.connect, 60)], nil, 60, [0]),
      ([(.response, 40), (.local, 20)], nil, 60, []), ([(.processing, 50)], 40, 60, []), ([], 40, 60, []),
    ] as [([(RequestTimings.Phase, Int)], Int?, Int, [Int])])
  func `a phase is an event when it begins`(
    phases: [(RequestTimings.Phase, Int)], first: Int?, duration: Int, events: [Int]
  ) throws {
    let requests = TapTracer(tracer)
    let trace = TraceContext.$current.withValue(root) { requests.beginClientSpan() }
    var observation = RequestObservation(
      request: RequestDescription(method: "GET", traceContext: trace),
      start: Timestamp(nanosecondsSinceEpoch: 1_000_000_000), duration: .milliseconds(duration),
      end: .response(statusCode: 200))
    for (phase, length) in phases { observation.timings[phase] = .milliseconds(length) }
    observation.timeToFirstByte = first.map { .milliseconds($0) }
    requests.requestEnded(observation)
    requests.requestEnded(observation)
    let span = try #require(ended.first)
    #expect(ended.count == 1)
    #expect(span.events.map { Int($0.millisecondsSinceEpoch) - 1_000 } == events)
    let names = phases.map(\.0.rawValue).filter { $0 != "local" }
    #expect(span.events.map(\.name) == Array(names.prefix(events.count)))
    #expect(span.endInstant.millisecondsSinceEpoch == UInt64(1_000 + duration))
  }
}
