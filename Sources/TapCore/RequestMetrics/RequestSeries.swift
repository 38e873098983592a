/// The three histograms of one set of request labels: found together, by one look-up.
final class RequestSeries: Sendable {
  let duration: Histogram
  let requestBodySize: Histogram
  let responseBodySize: Histogram

  init(duration: Histogram, requestBodySize: Histogram, responseBodySize: Histogram) {
    self.duration = duration
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
  }

  /// A number that changes with every request.
  var activity: UInt64 { duration.count }

  func record(_ observation: RequestObservation) {
    guard observation.request.traceContext == nil else { return recordWithTrace(observation) }
    duration.record(max(observation.duration, .zero))
    if let size = observation.requestBodySize, size >= 0 { requestBodySize.record(Double(size)) }
    if let size = observation.responseBodySize, size >= 0 { responseBodySize.record(Double(size)) }
  }

  @inline(never)
  private func recordWithTrace(_ observation: RequestObservation) {
    let (trace, end) = (observation.request.traceContext, observation.endTime)
    duration.record(max(observation.duration, .zero).seconds, trace: trace, at: end)
    if let size = observation.requestBodySize, size >= 0 {
      requestBodySize.record(Double(size), trace: trace, at: end)
    }
    if let size = observation.responseBodySize, size >= 0 {
      responseBodySize.record(Double(size), trace: trace, at: end)
    }
  }
}

extension RequestObservation {
  /// When the request ended, at most the last moment that a timestamp can tell.
  fileprivate var endTime: Timestamp {
    let elapsed = Int64(exactly: (duration.seconds * 1e9).rounded()) ?? .max
    let (end, overflow) = start.nanosecondsSinceEpoch.addingReportingOverflow(elapsed)
    return Timestamp(nanosecondsSinceEpoch: overflow ? .max : end)
  }
}
