import Synchronization

/// A counter, a gauge or a histogram, as the registry uses it.
protocol Instrument: AnyObject, Sendable {
  /// Reads the value, then writes it as a series with these labels.
  func write(labels: RenderedLabels, created: Timestamp, to writer: any ExpositionWriter)
  /// A number that changes with every record.
  var activity: UInt64 { get }
}

/// Counts the values that the instruments of a family drop, exposed as `session_tap_dropped_values_total`.
final class DroppedValues: Sendable {
  private let counter = Atomic<UInt64>(0)

  func increment() {
    counter.wrappingAdd(1, ordering: .relaxed)
  }

  var count: UInt64 { counter.load(ordering: .relaxed) }
}
