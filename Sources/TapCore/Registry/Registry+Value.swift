extension Registry {
  /// The value of a sample as a scrape would show it now. For tests and health checks, not for a hot path.
  ///
  /// ```swift
  /// let count = tap.registry.value(of: "http_client_request_duration_seconds_count", labels: ["client": "users"])
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of a counter, a gauge or an info; for a histogram, its name with `_count` or `_sum`.
  ///   - labels: Labels that a series must have. If empty, every series matches.
  /// - Returns: The sum over the series that have these labels, or `nil` if there is none.
  public func value(of name: String, labels: [String: String] = [:]) -> Double? {
    let sum = SampleSum(name, labels)
    for family in gather() where family.descriptor.claims.contains(name) {
      sum.begin(family.descriptor)
      family.writeSamples(to: sum)
    }
    return sum.value
  }
}

/// Adds up the samples of one name that have some labels.
private final class SampleSum: ExpositionWriter {
  /// Nothing is written.
  var bytes: [UInt8] = []
  private(set) var value: Double?
  private let name: String
  private let labels: [[UInt8]: [UInt8]]
  private var family = ""

  init(_ name: String, _ labels: [String: String]) {
    self.name = name
    self.labels = [[UInt8]: [UInt8]](
      labels.map { (Array($0.utf8), Array($1.prefix(utf8Length: RenderedLabels.maximumValueLength).utf8)) }
    ) { first, _ in first }
  }

  func begin(_ family: FamilyDescriptor) { self.family = family.name }

  func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?) { add(value, labels) }

  func gauge(_ value: Double, labels: RenderedLabels) { add(value, labels) }

  func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp) {
    let snapshot = histogram.snapshot
    add(Double(snapshot.count), labels, suffix: "_count")
    add(snapshot.sum, labels, suffix: "_sum")
  }

  func finish() {}

  private func add(_ value: Double, _ series: RenderedLabels, suffix: String = "") {
    guard name == family + suffix else { return }
    let pairs = [[UInt8]: [UInt8]](series.pairs.map { ($0.name, $0.value) }) { first, _ in first }
    // An empty label is no label.
    guard labels.allSatisfy({ pairs[$0, default: []] == $1 }) else { return }
    self.value = (self.value ?? 0) + value
  }
}
