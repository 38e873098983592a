/// Writes metric families in one format. No lock is held while it writes.
protocol ExpositionWriter {
  /// Begins to write in place of what the buffer holds, which is taken away until ``finish(into:)``.
  mutating func start(in buffer: inout [UInt8])
  /// Begins a family; its samples follow.
  mutating func begin(_ family: FamilyDescriptor)
  /// A sample of a counter.
  mutating func counter(_ value: Double, labels: RenderedLabels, created: Timestamp?)
  /// A sample of a gauge or an info.
  mutating func gauge(_ value: Double, labels: RenderedLabels)
  /// A series of a histogram.
  mutating func histogram(_ histogram: Registry.Histogram, labels: RenderedLabels, created: Timestamp)
  /// Ends the exposition and hands the buffer back.
  mutating func finish(into buffer: inout [UInt8])
}
