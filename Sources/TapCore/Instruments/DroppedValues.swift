import Synchronization

/// Counts the values that the instruments of a family drop, exposed as `session_tap_dropped_values_total`.
final class DroppedValues: Sendable {
  private let counter = Atomic<UInt64>(0)

  func increment() {
    counter.wrappingAdd(1, ordering: .relaxed)
  }

  var count: UInt64 { counter.load(ordering: .relaxed) }
}
