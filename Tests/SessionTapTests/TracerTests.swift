import TestSupport

@testable import SessionTap

/// What a tracer gets of requests, and when. Some tests have a process of their own: a tracer makes the spans
/// of all requests of the process, and other tests trace requests too.
@Suite(.needs(.thread)) struct TracerTests {
  private final class Span: Sendable {}

  /// Makes spans, and counts the ends of their requests.
  private final class Tracer: RequestTracer {
    let ended = Watched(0)

    func beginClientSpan() -> TraceContext { span(in: .current) }

    func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
      span(in: headers("traceparent").flatMap { TraceContext(traceparent: $0) })
    }

    private func span(in parent: TraceContext?) -> TraceContext {
      let context = parent?.child() ?? .random()
      return TraceContext(traceparent: context.traceparent, span: Span()) ?? context
    }

    func requestEnded(_ observation: RequestObservation) { ended.change { $0 += 1 } }
  }

  @Test func `is asked all that the tap is to know, and sees a request as its line does`() throws {
    let traces = (0..<4).map { _ in TraceContext.random() }
    let seen = Watched<[RequestDescription]>([])
    let configuration = Tap.Configuration.test {
      $0.logging.redaction.allowedQueryKeys = ["page"]
      $0.logging.redaction.custom = {
        $0 == "http.request.method_original" ? nil : $1.replacing("host", with: "it")
      }
      $0.tracer = with(CallingTracer()) {
        $0.current = { traces[0] }
        $0.client = { traces[1] }
        $0.clientInParent = { $0 == traces[0] ? traces[2] : traces[1] }
        $0.server = { $0 == "PUT" && $1("a") == "b" ? traces[3] : traces[0] }
        $0.ended = { observation in seen.change { $0.append(observation.request) } }
      }
    }
    let tracer = try #require(configuration.makeTracer())
    let served = tracer.beginServerSpan(method: "PUT") { $0 == "a" ? "b" : nil }
    #expect(
      [tracer.currentTrace, tracer.beginClientSpan(), tracer.beginClientSpan(in: traces[0]), served] == traces
    )
    let url = "http://user:s3cret@host/a?page=1&key=secret#x"
    tracer.requestEnded(with(.bare()) { ($0.request.method, $0.request.url) = ("BREW", url) })
    #expect(seen.state.map { "\($0.method) \($0.url)" } == ["_OTHER http://it/a?page=1&key=REDACTED"])
  }

  /// No tap has this tracer, so that it needs no process of its own.
  @Test func `begins a span within the trace that it is given`() {
    let parent = TraceContext.random(isSampled: true)
    let trace = Tracer().beginClientSpan(in: parent)
    #expect(trace.traceID == parent.traceID && trace.spanID != parent.spanID && trace.isSampled)
    #expect(TraceContext.current == nil)
  }

  @Test func `has its span released with the request, whatever keeps the trace, also in that of a caller`()
    async
  {
    await #expect(processExitsWith: .success) {
      let tap = try Tap(.test { ($0.tracer, $0.exemplars) = (Tracer(), .all) })
      let caller = TraceContext.random(isSampled: true)
      weak var span: Span?
      do {
        let served = tap.inbound.begin(method: "GET", path: "/", traceparent: caller.traceparent)
        #expect(served.trace.traceID == caller.traceID && served.trace.isSampled)
        span = served.trace.span as? Span
        #expect(served.trace.spanID != caller.spanID && span != nil)
        served.end(statusCode: 200)
        // Not by what a middleware says of other headers.
        let other = tap.inbound.begin(method: "GET", path: "/") { _ in caller.traceparent }
        #expect(other.trace.traceID != caller.traceID)
      }
      #expect(await tap.flush(within: .seconds(60)))
      #expect(tap.registry.exposition(in: .openMetrics).text.contains("span_id="))
      try await Poll.until("the release of the span") { span == nil }
      await tap.shutdown()
    }
  }

  @Test func `misses no request for a slow observer`() async {
    await #expect(processExitsWith: .success) {
      let (tracer, gate) = (Tracer(), Gate())
      let observer = CallingObserver(ended: { _ in gate.waitBlocking() })
      let tap = try Tap(.test { ($0.tracer, $0.observers) = (tracer, [observer]) })
      for number in 1...50 {
        for _ in 0..<100 { tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200) }
        // The tracer keeps up; the observer does not.
        _ = tap.registry.exposition()
        try await tracer.ended.wait("span \(100 * number)") { $0 == 100 * number }
      }
      #expect(tap.registry.value(of: "session_tap_observer_dropped_total") ?? 0 > 0)
      gate.open()
      await tap.shutdown()
    }
  }
}
