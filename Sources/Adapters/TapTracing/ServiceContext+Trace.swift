public import Logging
public import ServiceContextModule
public import TapCore

extension ServiceContext {
  /// The trace that the current work belongs to.
  public var trace: TraceContext? {
    get { self[TraceKey.self] }
    set { self[TraceKey.self] = newValue }
  }

  /// Runs an operation, and the tasks that it starts, within a trace. Sets ``trace`` of the current context
  /// for libraries, and `TraceContext.current` for the tap. If a ``TapTracer`` has made the trace, spans of
  /// the operation are children of its span.
  ///
  ///     let inbound = tap.inbound.begin(method: "GET", path: "/users/42", traceparent: header)
  ///     let response = try await ServiceContext.withTrace(inbound.trace) { try await next(request) }
  ///     inbound.end(statusCode: response.status)
  public static func withTrace<Result>(
    _ trace: TraceContext, isolation: isolated (any Actor)? = #isolation,
    operation: () async throws -> Result
  ) async rethrows -> Result {
    var context = trace.context ?? current ?? .topLevel
    context.trace = trace
    return try await TraceContext.$current.withValue(trace) {
      try await $current.withValue(context, operation: operation)
    }
  }

  private enum TraceKey: ServiceContextKey {
    typealias Value = TraceContext
    static var nameOverride: String? { "traceparent" }
  }
}

extension Logger.MetadataProvider {
  /// Adds `trace_id` and `span_id` to messages that are logged within a trace, as in the lines of requests.
  ///
  ///     LoggingSystem.bootstrap(
  ///       { TapLogHandler(label: $0, tap: tap, metadataProvider: $1) }, metadataProvider: .trace)
  public static let trace = Logger.MetadataProvider {
    guard let trace = ServiceContext.current?.trace ?? TraceContext.current else { return [:] }
    return ["trace_id": .string(trace.traceID), "span_id": .string(trace.spanID)]
  }
}
