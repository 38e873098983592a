import TapCore
public import Tracing

/// Carries the trace between the headers of requests and `ServiceContext`, by W3C Trace Context, for the
/// libraries that use swift-distributed-tracing.
///
///     InstrumentationSystem.bootstrap(TapInstrument())
///
/// It makes no spans: a ``TapTracer`` does, with a tracer. It forwards the trace of the context, or
/// `TraceContext.current` if the context has none. Requests that the app makes where only the context has a
/// trace belong to it, URLSession's included.
public struct TapInstrument: Instrument {
  /// Makes an instrument. It has no state; from now on, taps look for the trace of a request in the current
  /// `ServiceContext` too (`TraceContext.findCurrent(_:)`).
  public init() { TraceContext.findCurrent { ServiceContext.current?.trace } }

  /// Reads `traceparent` and `tracestate` of an incoming request. An invalid header is ignored.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let header = extractor.extract(key: "traceparent", from: carrier) else { return }
    let state = extractor.extract(key: "tracestate", from: carrier)
    if let trace = TraceContext(traceparent: header, tracestate: state) { context.trace = trace }
  }

  /// Writes `traceparent` and `tracestate` into an outgoing request.
  public func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let trace = context.trace ?? TraceContext.current else { return }
    injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
    if let state = trace.tracestate { injector.inject(state, forKey: "tracestate", into: &carrier) }
  }
}
