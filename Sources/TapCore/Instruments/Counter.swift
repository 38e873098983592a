extension Registry {
  /// A value that only goes up: requests served, bytes sent.
  ///
  /// A counter is a cheap handle: keep it, so that an increment needs no look-up. Counters may be used from
  /// any thread, and cores that increment the same one do not wait for each other.
  public final class Counter: Sendable, SeriesRow {
    private let cells: StripedCells<Double>
    private let dropped: DroppedValues

    init(dropped: DroppedValues) {
      cells = StripedCells { 0 }
      self.dropped = dropped
    }

    /// Adds a whole amount. An amount below 0 is dropped, and counted in
    /// `session_tap_dropped_values_total`.
    public func increment(by amount: Int = 1) { increment(by: Double(amount)) }

    /// Adds an amount, such as seconds. An amount that is below 0, infinite or not a number is dropped, and
    /// counted in `session_tap_dropped_values_total`.
    public func increment(by amount: Double) {
      guard amount >= 0, amount.isFinite else { return dropped.increment() }
      cells.withCell { $0 += amount }
    }

    /// The sum of all amounts since the counter was made, at most the greatest finite number. Whole amounts
    /// are exact up to 2^53.
    public var value: Double {
      var sum = 0.0
      cells.forEachCell { sum += $0 }
      return min(sum, .greatestFiniteMagnitude)
    }

    var activity: UInt64 { value.bitPattern }

    func content(of column: Int) -> GatheredFamily.Content? { .number(value) }
  }
}
