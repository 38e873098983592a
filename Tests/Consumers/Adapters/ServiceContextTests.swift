import Instrumentation
import Logging
import TapCore
import TapTracing
import Testing

@Suite struct ServiceContextTests {
  private struct Headers: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    func inject(_ value: String, forKey key: String, into map: inout [String: String]) { map[key] = value }
  }

  private static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  private func extracted(from headers: [String: String]) -> ServiceContext {
    var context = ServiceContext.topLevel
    TapInstrument().extract(headers, into: &context, using: Headers())
    return context
  }

  private func injected(from context: ServiceContext) -> [String: String] {
    var headers: [String: String] = [:]
    TapInstrument().inject(context, into: &headers, using: Headers())
    return headers
  }

  @Test func `what comes in goes out`() {
    let headers = ["traceparent": Self.traceparent, "tracestate": "vendor=1,other=2"]
    let context = extracted(from: headers)
    #expect(context.trace?.traceparent == Self.traceparent)
    #expect(injected(from: context) == headers)
  }

  @Test(arguments: [nil, "", "00-0-0-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "\u{0}"])
  func `a header that is not valid is ignored, and its state with it`(header: String?) {
    let context = extracted(from: ["traceparent": header, "tracestate": "a=1"].compactMapValues { $0 })
    #expect(context.isEmpty)
    #expect(injected(from: context).isEmpty)
  }

  @Test func `a state that is too long is left out, and the trace stays`() {
    let state = String(repeating: "a", count: 513)
    let context = extracted(from: ["traceparent": Self.traceparent, "tracestate": state])
    #expect(injected(from: context) == ["traceparent": Self.traceparent])
  }

  @Test func `a part of a trace, and the tasks that it begins, know it`() async throws {
    let trace = try #require(TraceContext(traceparent: Self.traceparent))
    let other = TraceContext.random()
    await ServiceContext.withTrace(trace) {
      #expect(ServiceContext.current?.trace == trace)
      #expect(TraceContext.current == trace)
      async let child = ServiceContext.current?.trace
      #expect(await child == trace)
      await ServiceContext.withTrace(other) {
        await Task.yield()
        #expect(ServiceContext.current?.trace == other)
      }
      #expect(ServiceContext.current?.trace == trace)
    }
    #expect(ServiceContext.current == nil)
    #expect(TraceContext.current == nil)
  }

  @Test func `what goes out without a trace in its context belongs to the tap's`() async throws {
    let (trace, other) = (TraceContext.random(), TraceContext.random())
    #expect(injected(from: .topLevel).isEmpty)
    TraceContext.$current.withValue(trace) {
      #expect(injected(from: .topLevel) == ["traceparent": trace.traceparent])
      var context = ServiceContext.topLevel
      context.trace = other
      #expect(injected(from: context) == ["traceparent": other.traceparent])
    }
  }

  @Test func `what the context has otherwise stays`() async {
    enum Key: ServiceContextKey { typealias Value = String }
    var context = ServiceContext.topLevel
    context[Key.self] = "kept"
    let trace = TraceContext.random()
    await ServiceContext.$current.withValue(context) {
      await ServiceContext.withTrace(trace) {
        #expect(ServiceContext.current?[Key.self] == "kept")
        #expect(ServiceContext.current?.trace == trace)
      }
    }
  }

  @Test func `what is logged within a trace says so`() async {
    let trace = TraceContext.random()
    let expected: Logger.Metadata = ["trace_id": .string(trace.traceID), "span_id": .string(trace.spanID)]
    #expect(Logger.MetadataProvider.trace.get() == [:])
    await ServiceContext.withTrace(trace) { #expect(Logger.MetadataProvider.trace.get() == expected) }
    TraceContext.$current.withValue(trace) { #expect(Logger.MetadataProvider.trace.get() == expected) }
  }
}
