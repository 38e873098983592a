/// Counts values in buckets: durations, sizes.
///
/// A histogram is a cheap handle: keep it, and a record looks nothing up. Histograms are safe to use from any
/// thread; cores that record in the same one do not wait for each other, and a scrape holds a lock only while it
/// copies one cell.
public final class Histogram: Sendable {
  let layout: BucketLayout
  private let cells: StripedCells<HistogramCell>
  private let dropped: DroppedValues

  init(layout: BucketLayout, dropped: DroppedValues) {
    self.layout = layout
    self.dropped = dropped
    cells = StripedCells(counterCount: layout.bucketCount)
  }

  /// Counts one value, in the unit of the metric's name. A value that is infinite or not a number is dropped, and
  /// counted in `session_tap_dropped_values_total`.
  public func record(_ value: Double) {
    guard value.isFinite else { return dropped.increment() }
    let bucket = layout.bucket(for: value)
    cells.withCell { cell, counts in
      counts[bucket] &+= 1
      cell.sum += value
    }
  }

  /// Counts a duration, in seconds.
  public func record(_ duration: Duration) {
    record(duration.seconds)
  }

  /// Everything recorded so far, added up.
  public var snapshot: HistogramSnapshot {
    var counts = [UInt64](repeating: 0, count: layout.bucketCount)
    let sum = read(into: &counts)
    return HistogramSnapshot(upperBounds: layout.upperBounds, counts: counts, sum: sum)
  }

  /// Adds the count of each bucket, not cumulative, to `counts`, and returns the sum of the values.
  func read(into counts: inout [UInt64]) -> Double {
    var sum = 0.0
    cells.forEachCell { cell, cellCounts in
      sum += cell.sum
      for index in counts.indices { counts[index] &+= cellCounts[index] }
    }
    return sum
  }

  /// Nothing has been recorded.
  var isEmpty: Bool {
    var counts = [UInt64](repeating: 0, count: layout.bucketCount)
    _ = read(into: &counts)
    return counts.allSatisfy { $0 == 0 }
  }
}
