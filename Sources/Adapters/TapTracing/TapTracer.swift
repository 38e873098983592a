import Instrumentation
import ServiceContextModule
public import TapCore
public import Tracing

/// Makes a span of each request, with a tracer of swift-distributed-tracing.
///
///     var configuration = Tap.Configuration()
///     configuration.tracer = TapTracer()
///     let tap = try Tap.start(configuration)
///
/// A request that the app makes with a trace, such as `request.traced()`, has a client span, and so has one
/// of a URLSession that is made within a span; one that the app serves has a server span. A span begins when
/// the request gets its trace, and ends with the request. A span whose request never ends, because it is not
/// sent or a filter excludes it, ends when the last copy of its trace is released, and has no attributes.
public struct TapTracer: RequestTracer {
  private let given: (any Tracer)?

  /// Makes a request tracer.
  ///
  /// - Parameter tracer: A tracer that injects `traceparent` (W3C Trace Context). With any other, the
  ///   requests carry ids of the tap's own, and the spans have different ones. With `nil` it is the active
  ///   one where a request is made or served: that of the innermost `withTracer(_:_:)`, or the bootstrapped
  ///   one.
  public init(_ tracer: (any Tracer)? = nil) { given = tracer }

  /// The tracer of the current task.
  private var tracer: any Tracer { given ?? InstrumentationSystem.tracer }

  /// The current `ServiceContext`, unless that is not of `TraceContext.current`.
  private var currentContext: ServiceContext? {
    let (context, served) = (ServiceContext.current, TraceContext.current)
    return served == nil || served == context?.trace ? context : nil
  }

  /// The span of the current `ServiceContext` or, without one, its trace; if the context is not of
  /// `TraceContext.current`, the latter.
  public var currentTrace: TraceContext? {
    guard let context = currentContext else { return TraceContext.current }
    var headers: [String: String] = [:]
    let tracer = tracer
    tracer.inject(context, into: &headers, using: Headers())
    let parent = Parent(context: context, tracer: tracer)
    return Self.trace(of: headers, span: parent) ?? context.trace ?? TraceContext.current
  }

  /// Begins a client span within ``currentTrace``.
  public func beginClientSpan() -> TraceContext {
    let served = TraceContext.current
    if currentContext == nil, let served { return beginClientSpan(in: served) }
    let tracer = tracer
    let span = tracer.startSpan("HTTP", context: currentContext ?? .topLevel, ofKind: .client)
    return Self.trace(of: span, by: tracer, otherwise: served?.child())
  }

  /// Begins a client span within a trace, which was ``currentTrace``.
  public func beginClientSpan(in parent: TraceContext) -> TraceContext {
    // This may be another thread than that of the task, whose tracer the parent has.
    let tracer = given ?? parent.tracer ?? tracer
    var context = parent.context ?? ServiceContext.current ?? .topLevel
    if parent.context == nil {
      var headers = ["traceparent": parent.traceparent]
      headers["tracestate"] = parent.tracestate
      tracer.extract(headers, into: &context, using: Headers())
    }
    return Self.trace(
      of: tracer.startSpan("HTTP", context: context, ofKind: .client), by: tracer, otherwise: parent.child())
  }

  /// Begins a server span within the span of the caller, if the headers name one.
  public func beginServerSpan(method: String, headers: (String) -> String?) -> TraceContext {
    var carrier: [String: String] = [:]
    for name in ["traceparent", "tracestate", "baggage"] { carrier[name] = headers(name) }
    var context = ServiceContext.current ?? .topLevel
    let tracer = tracer
    tracer.extract(carrier, into: &context, using: Headers())
    return Self.trace(
      of: tracer.startSpan("HTTP", context: context, ofKind: .server), by: tracer,
      otherwise: Self.trace(of: carrier)?.child())
  }

  private static func trace(
    of span: any Span, by tracer: any Tracer, otherwise other: TraceContext?
  ) -> TraceContext {
    let span = RequestSpan(span, by: tracer)
    var headers: [String: String] = [:]
    tracer.inject(span.span.context, into: &headers, using: Headers())
    return trace(of: headers, span: span) ?? (other ?? .random()).with(span)
  }

  private static func trace(
    of headers: [String: String], span: (any AnyObject & Sendable)? = nil
  ) -> TraceContext? {
    headers["traceparent"].flatMap {
      TraceContext(traceparent: $0, tracestate: headers["tracestate"], span: span)
    }
  }

  /// Ends the span of a request.
  public func requestEnded(_ observation: RequestObservation) {
    observation.request.traceContext?.requestSpan?.end(observation)
  }

  /// The context of a span of the app's own, for the requests within it.
  final class Parent: Sendable {
    let context: ServiceContext
    let tracer: any Tracer

    init(context: ServiceContext, tracer: any Tracer) { (self.context, self.tracer) = (context, tracer) }
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

  /// The context of the span that a ``TapTracer`` has begun for this request, or has found.
  var context: ServiceContext? { requestSpan?.span.context ?? (span as? TapTracer.Parent)?.context }

  /// Which made that span, or was active within it.
  fileprivate var tracer: (any Tracer)? { requestSpan?.tracer ?? (span as? TapTracer.Parent)?.tracer }

  fileprivate func with(_ span: RequestSpan) -> TraceContext {
    TraceContext(traceparent: traceparent, tracestate: tracestate, span: span) ?? self
  }
}
