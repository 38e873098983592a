import SessionTap
import TestSupport

/// What a tracer gets of requests, and when. Each test has a process of its own: a tracer makes the spans of
/// all requests of the process, and other tests trace requests too.
@Suite(.needs(.thread)) struct TracerTests {
  private final class Span: Sendable {}

  /// Makes spans, and keeps what it hears of their requests. Tests beside these make requests too: they get
  /// the trace and the flags that they would have without it.
  private final class Tracer: RequestTracer {
    let ended = Mutex<[RequestObservation]>([])

    func beginClientSpan() -> TraceContext { span(in: .current) }

    func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
      span(in: headers("traceparent").flatMap { TraceContext(traceparent: $0) })
    }

    private func span(in parent: TraceContext?) -> TraceContext {
      let context = parent?.child() ?? .random()
      return TraceContext(traceparent: context.traceparent, span: Span()) ?? context
    }

    func requestEnded(_ observation: RequestObservation) {
      var observation = observation
      observation.request.traceContext = nil
      ended.withLock { $0.append(observation) }
    }
  }

  @Test func `sees a request as its line in the log does`() async {
    await #expect(processExitsWith: .success) {
      let tracer = Tracer()
      let tap = try Tap(
        .test(log: .memory) { configuration in
          configuration.tracer = tracer
          configuration.logging.recentLineLimit = 10
          configuration.logging.redaction.allowedQueryKeys = ["page"]
          configuration.logging.redaction.custom = { key, text in
            key == "http.request.method_original" ? nil : text.replacing("host", with: "shown")
          }
        })
      tap.outbound.begin(client: "c", method: "BREW", url: "http://user:pa/ss@host/a?page=1&key=secret#x")
        .end(statusCode: 200)
      tap.inbound.begin(method: "GET", path: "/a;id=7?key=secret").end(statusCode: 200)
      #expect(await tap.flush(within: .seconds(60)))
      let seen = tracer.ended.withLock { $0.map(\.request) }
      let lines = try #require(tap.requestLog).recentText
      for url in seen.map(\.url) { #expect(lines.contains("\"\(url)\"") && !url.contains("pa/ss")) }
      #expect(seen.map(\.url).last == "/a;id=REDACTED")
      #expect(seen.map(\.methodLabel) == ["_OTHER", "GET"] && seen.first?.method == "_OTHER")
      #expect(!lines.contains("secret") && !lines.contains("BREW"))
      await tap.shutdown()
    }
  }

  @Test func `a served request is in the trace of its caller`() async {
    await #expect(processExitsWith: .success) {
      let tap = try Tap(.test { $0.tracer = Tracer() })
      let caller = TraceContext.random(isSampled: true)
      let served = tap.inbound.begin(method: "GET", path: "/", traceparent: caller.traceparent)
      #expect(served.trace.traceID == caller.traceID && served.trace.isSampled)
      #expect(served.trace.spanID != caller.spanID && served.trace.span is Span)
      // Not by what a middleware says of other headers.
      let other = tap.inbound.begin(method: "GET", path: "/") { _ in caller.traceparent }
      #expect(other.trace.traceID != caller.traceID)
      await tap.shutdown()
    }
  }

  /// No tap has this tracer, so that it needs no process of its own.
  @Test func `begins a span within the trace that it is given`() {
    let parent = TraceContext.random(isSampled: true)
    let trace = Tracer().beginClientSpan(in: parent)
    #expect(trace.traceID == parent.traceID && trace.spanID != parent.spanID && trace.isSampled)
    #expect(TraceContext.current == nil)
  }

  @Test func `misses no request for a slow observer`() async {
    await #expect(processExitsWith: .success) {
      let tracer = Tracer()
      let gate = Gate()
      let observer = CallingObserver(ended: { _ in gate.waitBlocking() })
      let tap = try Tap(.test { ($0.tracer, $0.observers) = (tracer, [observer]) })
      for number in 1...50 {
        for _ in 0..<100 { tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200) }
        // The tracer keeps up; the observer does not.
        _ = tap.registry.exposition()
        try await Poll.until("span \(100 * number)") { tracer.ended.withLock { $0.count } == 100 * number }
      }
      #expect(tap.registry.value(of: "session_tap_observer_dropped_total") ?? 0 > 0)
      gate.open()
      await tap.shutdown()
    }
  }

  @Test func `has its span released with the request, whatever keeps the trace`() async {
    await #expect(processExitsWith: .success) {
      let tracer = Tracer()
      let tap = try Tap(.test { ($0.tracer, $0.exemplars) = (tracer, .all) })
      weak var span: Span?
      do {
        let request = tap.outbound.begin(
          client: "c", method: "GET", url: "http://host/", trace: tracer.beginClientSpan())
        span = request.trace.span as? Span
        #expect(span != nil)
        request.end(statusCode: 200)
      }
      #expect(await tap.flush(within: .seconds(60)))
      #expect(tap.registry.exposition(in: .openMetrics).text.contains("span_id="))
      try await Poll.until("the release of the span") { span == nil }
      await tap.shutdown()
    }
  }
}
