/// A metric of requests: its name, its help, its type, and what the begin and the end of a request add or
/// record.
///
/// A class: a value of this size would be copied at each access.
final class RequestColumn: Sendable {
  /// What the end of a request adds or records.
  enum Value: Sendable {
    case none
    /// 1 for each request, or for each that was cancelled; the end of what was counted at the begin.
    case one, cancelled, minusOne
    case redirects, openedConnections, retransmittedSegments
    case duration, timeToFirstByte, roundTrip, upstream
    case requestBodySize, responseBodySize

    /// `nil` is unknown. A value below 0 is dropped and counted, but for a gauge.
    func value(of request: borrowing RequestObservation) -> Double? {
      switch self {
      case .none: nil
      case .one: 1
      case .cancelled: request.end == .cancelled ? 1 : nil
      case .minusOne: -1
      case .redirects: request.resendCount.map(Double.init)
      case .openedConnections: request.openedConnections.map(Double.init)
      case .retransmittedSegments: request.retransmittedSegments.map(Double.init)
      case .duration: seconds(request.duration.nanoseconds)
      case .timeToFirstByte: request.timeToFirstByte.map { seconds($0.nanoseconds) }
      case .roundTrip: request.networkRoundTrip.map { seconds($0.nanoseconds) }
      case .upstream: request.upstream.map { seconds($0.nanoseconds) }
      case .requestBodySize: request.requestBodySize.map(Double.init)
      case .responseBodySize: request.responseBodySize.map(Double.init)
      }
    }
  }

  let column: SeriesColumn
  let layout: BucketLayout?
  var isHistogram: Bool { layout != nil }
  let atBegin: Double
  let atEnd: Value
  /// The value of a series before anything is known: 0 for a count.
  let initialNumber: Double?
  let isGauge: Bool
  /// The age of the oldest request, which a scrape sets.
  let isAge: Bool

  private init(
    _ name: String, _ help: String, _ buckets: HistogramBuckets? = nil, atBegin: Double = 0, atEnd: Value,
    _ initialNumber: Double? = nil, isAge: Bool = false
  ) throws(RegistryError) {
    if let buckets, !buckets.isValid { throw RegistryError(.invalidBuckets, metric: name) }
    let type: MetricType = buckets != nil ? .histogram : name.hasSuffix("_total") ? .counter : .gauge
    let unit = ["seconds", "bytes"].first { name.hasSuffix("_\($0)") || name.hasSuffix("_\($0)_total") }
    column = SeriesColumn(
      descriptor: try FamilyDescriptor(name: name, help: help, type: type, unit: unit))
    layout = buckets.map(BucketLayout.init)
    (isGauge, self.isAge) = (type == .gauge, isAge)
    (self.atBegin, self.atEnd, self.initialNumber) = (atBegin, atEnd, initialNumber)
  }

  /// A histogram of values. A series without a value is not exposed: unknown is not 0.
  static func histogram(
    _ name: String, _ help: String, _ buckets: HistogramBuckets, _ value: Value = .none
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, buckets, atEnd: value)
  }

  /// A sum of values. A series without a value is not exposed.
  static func sum(
    _ name: String, _ help: String, _ value: Value = .none
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atEnd: value)
  }

  /// A count of begins and ends, from 0 on.
  static func count(
    _ name: String, _ help: String, atBegin: Double = 0, atEnd: Value = .none
  ) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atBegin: atBegin, atEnd: atEnd, 0)
  }

  /// The age of the oldest active request, 0 without any.
  static func age(_ name: String, _ help: String) throws(RegistryError) -> RequestColumn {
    try RequestColumn(name, help, atEnd: .none, 0, isAge: true)
  }
}
