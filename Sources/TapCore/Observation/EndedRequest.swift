/// What is measured of every request that has ended, whichever way it went.
package protocol EndedRequest: Sendable {
  var traceContext: TraceContext? { get }
  var start: Timestamp { get }
  /// Nanoseconds.
  var elapsed: Int64 { get }
  /// Nanoseconds.
  var elapsedToFirstByte: Int64? { get }
  var requestBodySize: Int64? { get }
  var responseBodySize: Int64? { get }
}

extension EndedRequest {
  /// When the request ended, at most the last moment that a timestamp can tell.
  package var endTime: Timestamp {
    let (end, isTooLate) = start.nanosecondsSinceEpoch.addingReportingOverflow(max(0, elapsed))
    return Timestamp(nanosecondsSinceEpoch: isTooLate ? .max : end)
  }
}

extension RequestObservation: EndedRequest {
  package var traceContext: TraceContext? { request.traceContext }
}
