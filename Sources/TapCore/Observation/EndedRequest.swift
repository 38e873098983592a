/// What is measured of every request that has ended, whichever way it went.
package protocol EndedRequest: Sendable {
  var traceContext: TraceContext? { get }
  var start: Timestamp { get }
  var duration: Duration { get }
  var timeToFirstByte: Duration? { get }
  var requestBodySize: Int64? { get }
  var responseBodySize: Int64? { get }
}

extension EndedRequest {
  /// When the request ended, at most the last moment that a timestamp can tell.
  package var endTime: Timestamp {
    let (seconds, attoseconds) = max(duration, .zero).components
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (elapsed, isTooLongStill) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    let (end, isTooLate) = start.nanosecondsSinceEpoch.addingReportingOverflow(elapsed)
    return Timestamp(nanosecondsSinceEpoch: isTooLong || isTooLongStill || isTooLate ? .max : end)
  }
}

extension RequestObservation: EndedRequest {
  package var traceContext: TraceContext? { request.traceContext }
}
