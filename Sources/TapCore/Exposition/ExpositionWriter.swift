/// Writes metric families in one format. A writer keeps what it has written; no lock is held while it writes.
protocol ExpositionWriter {
  /// Begins a family; its samples follow.
  mutating func begin(_ family: FamilyDescriptor)
  /// A sample of a counter.
  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?)
  /// A sample of a gauge or an info.
  mutating func gauge(_ value: Double, labels: RenderedLabels)
  /// A series of a histogram.
  mutating func histogram(_ histogram: Histogram, labels: RenderedLabels, created: Timestamp)
  /// Ends the exposition and hands its bytes over.
  mutating func finish() -> [UInt8]
}
