import Synchronization

extension Registry {
  /// A value that goes up and down: jobs in a queue, the temperature of a room. Any thread may use it.
  public final class Gauge: Sendable, SeriesRow {
    private let state = Mutex(State())

    init() {}

    /// Replaces the value.
    public func set(_ value: Double) { update { _ in value } }

    /// Replaces the value. Whole values are exact up to 2^53.
    public func set(_ value: Int) { set(Double(value)) }

    /// Adds to the value.
    public func increment(by amount: Double = 1) { update { $0 + amount } }

    /// Subtracts from the value.
    public func decrement(by amount: Double = 1) { increment(by: -amount) }

    /// The current value, initially 0.
    public var value: Double { state.withLock { $0.value } }

    /// Changes with every write, even of the same value.
    var activity: UInt64 { state.withLock { $0.writes } }

    func content(of column: Int) -> GatheredFamily.Content? { .number(value) }

    private struct State {
      var value = 0.0
      var writes: UInt64 = 0
    }

    private func update(_ change: (Double) -> Double) {
      state.withLock { state in
        state.value = change(state.value)
        state.writes &+= 1
      }
    }
  }
}
