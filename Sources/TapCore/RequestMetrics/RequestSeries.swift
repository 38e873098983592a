import Synchronization

/// The histograms of one set of request labels: found together, by one look-up.
final class RequestSeries: Sendable {
  let duration: Histogram
  let requestBodySize: Histogram
  let responseBodySize: Histogram
  private let firstByte = AtomicLazyReference<Histogram>()
  private let makeFirstByte: (@Sendable () -> Histogram)?

  init(
    duration: Histogram, requestBodySize: Histogram, responseBodySize: Histogram,
    timeToFirstByte: (@Sendable () -> Histogram)?
  ) {
    self.duration = duration
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
    makeFirstByte = timeToFirstByte
  }

  /// Made when the first time is recorded: for most requests nobody tells one.
  var timeToFirstByte: Histogram? { firstByte.load() }

  /// A number that changes with every request.
  var activity: UInt64 { duration.count }

  func record(_ observation: some EndedRequest) {
    guard observation.traceContext == nil else { return recordWithTrace(observation) }
    duration.record(max(observation.duration, .zero))
    if let size = observation.requestBodySize, size >= 0 { requestBodySize.record(Double(size)) }
    if let size = observation.responseBodySize, size >= 0 { responseBodySize.record(Double(size)) }
    if let time = observation.timeToFirstByte { knownFirstByte?.record(max(time, .zero)) }
  }

  /// `nil` where the family does not exist.
  private var knownFirstByte: Histogram? {
    firstByte.load() ?? makeFirstByte.map { firstByte.storeIfNil($0()) }
  }

  @inline(never)
  private func recordWithTrace(_ observation: some EndedRequest) {
    let (trace, end) = (observation.traceContext, observation.endTime)
    duration.record(max(observation.duration, .zero).seconds, trace: trace, at: end)
    if let size = observation.requestBodySize, size >= 0 {
      requestBodySize.record(Double(size), trace: trace, at: end)
    }
    if let size = observation.responseBodySize, size >= 0 {
      responseBodySize.record(Double(size), trace: trace, at: end)
    }
    if let time = observation.timeToFirstByte {
      knownFirstByte?.record(max(time, .zero).seconds, trace: trace, at: end)
    }
  }
}
