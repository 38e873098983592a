import Instrumentation
import Logging
import TapCore

/// The trace of a tap in the context that swift-distributed-tracing carries from task to task, from the header of a
/// request to those that it causes, and into the log.
///
///     InstrumentationSystem.bootstrap(TapInstrument())
///     LoggingSystem.bootstrap({ TapLogHandler(label: $0, log: tap.requestLog, metadataProvider: $1) }, metadataProvider: .trace)
///
/// A middleware puts the trace there, for what comes behind it, and for the tap:
///
///     try await ServiceContext.withTrace(inbound.trace) { try await next(request) }
extension ServiceContext {
  /// The trace that the work at hand belongs to.
  var trace: TraceContext? {
    get { self[TraceKey.self] }
    set { self[TraceKey.self] = newValue }
  }

  /// What others have added to the trace: the value of `tracestate`, which goes on as it came.
  var traceState: String? {
    get { self[TraceStateKey.self] }
    set { self[TraceStateKey.self] = newValue }
  }

  /// Runs an operation, and the tasks that it begins, as a part of a trace: of the context's, which libraries know,
  /// and of `TraceContext.current`, which the tap knows.
  static func withTrace<Result>(
    _ trace: TraceContext, isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> Result
  ) async rethrows -> Result {
    var context = current ?? .topLevel
    context.trace = trace
    return try await TraceContext.$current.withValue(trace) {
      try await $current.withValue(context, operation: operation)
    }
  }

  private enum TraceKey: ServiceContextKey {
    typealias Value = TraceContext
    static var nameOverride: String? { "traceparent" }
  }

  private enum TraceStateKey: ServiceContextKey {
    typealias Value = String
    static var nameOverride: String? { "tracestate" }
  }
}

/// Takes the trace from the headers of requests that come, and puts it into those that go (W3C Trace Context), for the
/// libraries that ask `InstrumentationSystem.instrument` to. It makes no spans: it forwards the trace that
/// came, or `TraceContext.current` where the library's context has none.
struct TapInstrument: Instrument {
  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard let header = extractor.extract(key: "traceparent", from: carrier),
      let trace = TraceContext(traceparent: header)
    else { return }
    context.trace = trace
    // Section 3.3.1.1 asks for at least 512 characters; a longer one may be left out.
    guard let state = extractor.extract(key: "tracestate", from: carrier), state.utf8.count <= 512 else {
      return
    }
    context.traceState = state
  }

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard let trace = context.trace ?? TraceContext.current else { return }
    injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
    if let state = context.traceState { injector.inject(state, forKey: "tracestate", into: &carrier) }
  }
}

extension Logger.MetadataProvider {
  /// Adds `trace_id` and `span_id` to what is logged within a trace: the names that the lines of requests have.
  static let trace = Logger.MetadataProvider {
    guard let trace = ServiceContext.current?.trace ?? TraceContext.current else { return [:] }
    return ["trace_id": .string(trace.traceID), "span_id": .string(trace.spanID)]
  }
}
