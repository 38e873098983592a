/// A metric of requests: its name, its help, its type, and what the begin and the end of a request add or
/// record.
///
/// A class: of a value with closures, each access would make a copy.
final class RequestColumn: Sendable {
  /// What an ended request has. `nil` is unknown. A value below 0 is dropped and counted, but for a gauge.
  typealias Value = @Sendable (RequestObservation) -> Double?

  let column: SeriesColumn
  /// Of a histogram.
  let layout: BucketLayout?
  let atBegin: Double
  let atEnd: Value
  /// What a series has before anything is known: a count has 0.
  let initialNumber: Double?
  let isGauge: Bool

  private init(
    _ descriptor: FamilyDescriptor, _ layout: BucketLayout? = nil, atBegin: Double = 0,
    atEnd: @escaping Value,
    _ initialNumber: Double? = nil
  ) {
    column = SeriesColumn(descriptor: descriptor)
    (self.layout, self.atBegin, self.atEnd, self.initialNumber) = (layout, atBegin, atEnd, initialNumber)
    isGauge = descriptor.type == .gauge
  }

  /// A histogram of values. A series without a value is not exposed: unknown is not 0.
  static func histogram(
    _ name: String, _ help: String, _ buckets: HistogramBuckets, _ value: @escaping Value = { _ in nil }
  ) throws(RegistryError) -> RequestColumn {
    guard buckets.isValid else { throw RegistryError(.invalidBuckets, metric: name) }
    let unit = name.hasSuffix("_bytes") ? "bytes" : "seconds"
    let descriptor = try FamilyDescriptor(name: name, help: help, type: .histogram, unit: unit)
    return RequestColumn(descriptor, BucketLayout(buckets), atEnd: value)
  }

  /// A sum of values. A series without a value is not exposed.
  static func sum(
    _ name: String, _ help: String, _ value: @escaping Value
  ) throws(RegistryError) -> RequestColumn {
    try number(name, help, atBegin: 0, atEnd: value, nil)
  }

  /// A count of begins and ends, from 0 on.
  static func count(
    _ name: String, _ help: String, atBegin: Double = 0, atEnd: @escaping Value = { _ in nil }
  ) throws(RegistryError) -> RequestColumn {
    try number(name, help, atBegin: atBegin, atEnd: atEnd, 0)
  }

  private static func number(
    _ name: String, _ help: String, atBegin: Double, atEnd: @escaping Value, _ initialNumber: Double?
  ) throws(RegistryError) -> RequestColumn {
    let type: MetricType = name.hasSuffix("_total") ? .counter : .gauge
    let descriptor = try FamilyDescriptor(name: name, help: help, type: type, unit: nil)
    return RequestColumn(descriptor, atBegin: atBegin, atEnd: atEnd, initialNumber)
  }
}
