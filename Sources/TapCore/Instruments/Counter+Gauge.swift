import Synchronization

extension Registry {
  /// A value that only goes up: requests served, bytes sent.
  ///
  /// Keep a counter, so that an increment needs no look-up. Any thread may use it.
  public final class Counter: Sendable, SeriesRow {
    private let sum = Mutex(0.0)
    private let dropped: DroppedValues

    init(dropped: DroppedValues) { self.dropped = dropped }

    /// Adds a whole amount. One below 0 is dropped, and counted in `session_tap_dropped_values_total`.
    public func increment(by amount: Int = 1) { increment(by: Double(amount)) }

    /// Adds an amount, such as seconds. One that is below 0, infinite or not a number is dropped, and counted
    /// in `session_tap_dropped_values_total`.
    public func increment(by amount: Double) {
      guard amount >= 0, amount.isFinite else { return dropped.increment() }
      sum.withLock { $0 = min($0 + amount, .greatestFiniteMagnitude) }
    }

    /// The sum of all amounts, at most the greatest finite number. Whole amounts are exact up to 2^53.
    package var value: Double { sum.withLock { $0 } }

    var activity: UInt64 { value.bitPattern }

    func content(of column: Int) -> GatheredFamily.Content? { .number(value) }
  }

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
    package var value: Double { state.withLock { $0.value } }

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
