import Instrumentation
import ServiceContextModule
public import TapCore
public import Tracing

/// Makes a span of each request, with a tracer of swift-distributed-tracing.
///
///     var configuration = Tap.Configuration()
///     configuration.tracer = TapTracer(InstrumentationSystem.tracer)
///     let tap = try Tap.start(configuration)
///
/// A request that the app makes with a trace, such as `request.traced()`, has a client span; one that it serves has a server
/// span. A span begins when the request gets its trace, and ends with the request. A span whose request never ends, because it is
/// not sent or a filter excludes it, ends when the last copy of its trace is released, and has no attributes.
public struct TapTracer: RequestTracer {
  private let tracer: any Tracer

  /// Makes a request tracer.
  ///
  /// - Parameter tracer: A tracer that injects `traceparent` (W3C Trace Context). With any other, the requests carry ids of
  ///   the tap's own, and the spans have different ones.
  public init(_ tracer: any Tracer) {
    self.tracer = tracer
  }

  /// Begins a client span within the current `ServiceContext`, or, if that is not of `TraceContext.current`, within the latter.
  public func beginClientSpan() -> TraceContext {
    var context = ServiceContext.current ?? .topLevel
    let served = TraceContext.current
    if let served, context.trace != served {
      if let span = served.context {
        context = span
      } else {
        tracer.extract(["traceparent": served.traceparent], into: &context, using: Headers())
      }
    }
    return trace(of: tracer.startSpan("HTTP", context: context, ofKind: .client), otherwise: served?.child())
  }

  /// Begins a server span within the span of the caller, if the headers name one.
  public func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
    var carrier: [String: String] = [:]
    for name in ["traceparent", "tracestate", "baggage"] { carrier[name] = headers(name) }
    var context = ServiceContext.current ?? .topLevel
    tracer.extract(carrier, into: &context, using: Headers())
    return trace(
      of: tracer.startSpan("HTTP", context: context, ofKind: .server),
      otherwise: carrier["traceparent"].flatMap { TraceContext(traceparent: $0) }?.child())
  }

  private func trace(of span: any Span, otherwise other: TraceContext?) -> TraceContext {
    let span = RequestSpan(span)
    var headers: [String: String] = [:]
    tracer.inject(span.span.context, into: &headers, using: Headers())
    let traceparent = headers["traceparent"] ?? ""
    return TraceContext(traceparent: traceparent, span: span) ?? (other ?? .random()).with(span)
  }

  /// Ends the span of a request.
  public func requestEnded(_ observation: RequestObservation) {
    observation.request.traceContext?.requestSpan?.end(observation)
  }

  private struct Headers: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
      carrier[key.lowercased()] = value
    }
  }
}

extension TraceContext {
  fileprivate var requestSpan: RequestSpan? { span as? RequestSpan }

  /// The context of the span that a ``TapTracer`` has begun for this request.
  var context: ServiceContext? { requestSpan?.span.context }

  fileprivate func with(_ span: RequestSpan) -> TraceContext {
    TraceContext(traceparent: traceparent, span: span) ?? self
  }
}
