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

  func record(_ observation: RequestObservation) {
    duration.record(max(observation.duration, .zero))
    if let size = observation.requestBodySize, size >= 0 { requestBodySize.record(Double(size)) }
    if let size = observation.responseBodySize, size >= 0 { responseBodySize.record(Double(size)) }
  }
}
