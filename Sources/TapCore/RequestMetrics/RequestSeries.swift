import Synchronization

/// The histograms of one set of request labels: found together, by one look-up.
final class RequestSeries: Sendable {
  let duration: Registry.Histogram
  let requestBodySize: Registry.Histogram
  let responseBodySize: Registry.Histogram
  private let firstByte = AtomicLazyReference<Registry.Histogram>()
  private let makeFirstByte: (@Sendable () -> Registry.Histogram)?

  init(
    duration: Registry.Histogram, requestBodySize: Registry.Histogram, responseBodySize: Registry.Histogram,
    timeToFirstByte: (@Sendable () -> Registry.Histogram)?
  ) {
    self.duration = duration
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
    makeFirstByte = timeToFirstByte
  }

  /// Made when the first time is recorded: for most requests nobody tells one.
  var timeToFirstByte: Registry.Histogram? { firstByte.load() }

  /// A number that changes with every request.
  var activity: UInt64 { duration.count }

  func record(_ observation: some EndedRequest) {
    guard observation.traceContext == nil else { return recordWithTrace(observation) }
    duration.record(Self.seconds(observation.elapsed))
    if let size = observation.requestBodySize, size >= 0 { requestBodySize.record(Double(size)) }
    if let size = observation.responseBodySize, size >= 0 { responseBodySize.record(Double(size)) }
    if let time = observation.elapsedToFirstByte { knownFirstByte?.record(Self.seconds(time)) }
  }

  /// `nil` where the family does not exist.
  private var knownFirstByte: Registry.Histogram? {
    firstByte.load() ?? makeFirstByte.map { firstByte.storeIfNil($0()) }
  }

  private static func seconds(_ nanoseconds: Int64) -> Double { Double(max(0, nanoseconds)) / 1e9 }

  @inline(never)
  private func recordWithTrace(_ observation: some EndedRequest) {
    let (trace, end) = (observation.traceContext, observation.endTime)
    duration.record(Self.seconds(observation.elapsed), trace: trace, at: end)
    if let size = observation.requestBodySize, size >= 0 {
      requestBodySize.record(Double(size), trace: trace, at: end)
    }
    if let size = observation.responseBodySize, size >= 0 {
      responseBodySize.record(Double(size), trace: trace, at: end)
    }
    if let time = observation.elapsedToFirstByte {
      knownFirstByte?.record(Self.seconds(time), trace: trace, at: end)
    }
  }
}
