/// A counter, a gauge or a histogram, as the registry uses it: the row of a table with one column.
protocol Instrument: SeriesRow {
  var reading: InstrumentReading { get }
}

extension Instrument {
  func content(of column: Int) -> GatheredFamily.Content? { .instrument(self) }
}

/// What a series shows of its instrument.
enum InstrumentReading {
  /// The value, and whether it has been counted since the series was made.
  case number(Double, isSinceCreation: Bool)
  case histogram(Registry.Histogram)
}
