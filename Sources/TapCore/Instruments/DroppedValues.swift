import Synchronization

/// Counts, per family, the values that its instruments could not take: they are exposed as
/// `session_tap_dropped_values_total`.
final class DroppedValues: Sendable {
  private let counter = Atomic<UInt64>(0)

  func increment() {
    counter.wrappingAdd(1, ordering: .relaxed)
  }

  var count: UInt64 { counter.load(ordering: .relaxed) }
}
