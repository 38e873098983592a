/// A family at the moment of a scrape: which series it has is settled, their values may still be read.
protocol GatheredFamily: Sendable {
  var descriptor: FamilyDescriptor { get }
  /// Writes the samples in the order of their labels, one series after another.
  func writeSamples(to writer: inout any ExpositionWriter)
}
