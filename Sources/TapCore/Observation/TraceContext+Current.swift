extension TraceContext {
  /// The trace of the request that the current Swift task serves.
  ///
  /// A middleware sets it for what comes behind it, so that the requests which are made there belong to the same
  /// trace:
  ///
  /// ```swift
  /// let response = try await TraceContext.$current.withValue(inbound.trace) { try await next(request) }
  /// ```
  ///
  /// Child tasks inherit it; detached tasks and queues do not.
  @TaskLocal public static var current: TraceContext?
}
