extension Registry {
  /// A value that only goes up: requests served, bytes sent.
  ///
  /// A counter is a cheap handle: keep it, so that an increment needs no look-up. Counters may be used from
  /// any thread, and cores that increment the same one do not wait for each other.
  public final class Counter: Sendable, Instrument {
    private let cells: StripedCells<Cell>
    private let dropped: DroppedValues

    init(dropped: DroppedValues) {
      cells = StripedCells(counterCount: 0)
      self.dropped = dropped
    }

    /// Adds a whole amount. An amount below 0 is dropped, and counted in
    /// `session_tap_dropped_values_total`.
    public func increment(by amount: Int = 1) {
      guard let amount = UInt64(exactly: amount) else { return dropped.increment() }
      cells.withCell { cell, _ in
        let (sum, isTooLarge) = cell.whole.addingReportingOverflow(amount)
        if isTooLarge { cell.fraction += Double(amount) } else { cell.whole = sum }
      }
    }

    /// Adds an amount, such as seconds. An amount that is below 0, infinite or not a number is dropped, and counted
    /// in `session_tap_dropped_values_total`.
    public func increment(by amount: Double) {
      guard amount >= 0, amount.isFinite else { return dropped.increment() }
      cells.withCell { cell, _ in cell.fraction += amount }
    }

    /// The sum of all amounts since the counter was made, at most the greatest finite number. Whole amounts
    /// are exact up to 2^53.
    public var value: Double {
      var whole = 0.0
      var fraction = 0.0
      cells.forEachCell { cell, _ in
        whole += Double(cell.whole)
        fraction += cell.fraction
      }
      return min(whole + fraction, .greatestFiniteMagnitude)
    }

    var activity: UInt64 { value.bitPattern }

    func write(labels: RenderedLabels, created: Timestamp, to writer: any ExpositionWriter) {
      writer.counter(value, labels: labels, created: created)
    }

    private struct Cell: StripedCellHeader {
      var whole: UInt64 = 0
      var fraction = 0.0
    }
  }
}
