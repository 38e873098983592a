extension Registry {
  /// Counts values in buckets: durations, sizes.
  ///
  /// Each histogram has two parts. The classic one counts in the buckets of its family. The native one counts
  /// in up to 160 exponential buckets, which are finer and need no choice.
  ///
  /// A histogram is a cheap handle: keep it, so that a record needs no look-up. Histograms may be used from
  /// any thread. Cores that record in the same one do not wait for each other, and a scrape holds a lock only
  /// while it copies one cell.
  public final class Histogram: Sendable, SeriesRow {
    let layout: BucketLayout
    private let cells: StripedCells<ValueHistogram>
    private let dropped: DroppedValues

    init(layout: BucketLayout, dropped: DroppedValues) {
      (self.layout, self.dropped) = (layout, dropped)
      cells = StripedCells { ValueHistogram(layout) }
    }

    /// Counts one value, in the unit of the metric's name. A value that is infinite or not a number is
    /// dropped, and counted in `session_tap_dropped_values_total`.
    public func record(_ value: Double) {
      guard value.isFinite else { return dropped.increment() }
      let bucket = layout.bucket(of: value)
      cells.withCell { $0.record(value, in: bucket) }
    }

    /// Counts a duration, in seconds.
    public func record(_ duration: Duration) { record(duration.seconds) }

    /// Runs an operation and counts how long it took, in seconds, also if it throws.
    ///
    ///     let reads = try registry.histogram("file_read_seconds", help: "Duration of reads.")
    ///     let data = try reads.measure { try Data(contentsOf: url) }
    ///
    /// - Returns: What the operation returns.
    public func measure<Result, Failure>(
      _ operation: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      let start = Instant.now
      defer { record(start.duration(to: .now)) }
      return try operation()
    }

    /// Runs an asynchronous operation and counts how long it took, in seconds, also if it throws or is
    /// cancelled. Waits count too.
    ///
    ///     let lookups = try registry.histogram("user_lookup_seconds", help: "Duration of look-ups.")
    ///     let (user, _) = try await lookups.measure { try await session.data(from: url) }
    ///
    /// - Parameters:
    ///   - isolation: The actor that the operation runs on: by default that of the caller.
    ///   - operation: What is measured.
    /// - Returns: What the operation returns.
    public func measure<Result, Failure>(
      isolation: isolated (any Actor)? = #isolation, _ operation: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
      let start = Instant.now
      defer { record(start.duration(to: .now)) }
      return try await operation()
    }

    /// Counts one value and keeps it as the exemplar of its classic bucket, in place of an earlier one.
    ///
    /// - Parameters:
    ///   - value: the value, in the unit of the metric's name.
    ///   - trace: the trace that the value belongs to. It is kept only if it is sampled: others cannot be
    ///     looked up.
    ///   - timestamp: the time of the value.
    public func record(
      _ value: Double, trace: TraceContext?, at timestamp: @autoclosure () -> Timestamp = .now
    ) {
      guard let trace, trace.isSampled else { return record(value) }
      record(value, keeping: trace, at: timestamp())
    }

    /// The same, for a trace that is kept.
    func record(_ value: Double, keeping trace: TraceContext, at timestamp: Timestamp) {
      guard value.isFinite else { return dropped.increment() }
      let exemplar = Exemplar(value: value, timestamp: timestamp, trace: trace)
      let bucket = layout.bucket(of: value)
      cells.withCell {
        $0.record(value, in: bucket)
        $0.keep(exemplar)
      }
    }

    /// Everything recorded so far, added up.
    package var snapshot: ValueHistogram {
      var sum: ValueHistogram?
      cells.forEachCell { cell in
        if sum == nil { sum = cell } else { sum?.add(cell) }
      }
      return sum ?? ValueHistogram(layout)
    }

    /// The value below which the share `quantile` of all values lies, from the native part: 0.5 gives the
    /// median, 0.99 the 99th percentile. `nil` if nothing was recorded, or `quantile` is not within 0 and 1.
    ///
    /// Assumes that values are spread evenly on a logarithmic scale within a bucket, as Prometheus 3 does.
    /// The error is at most one bucket's width.
    public func quantile(_ quantile: Double) -> Double? { snapshot.native.quantile(quantile) }

    var activity: UInt64 {
      var count: UInt64 = 0
      cells.forEachCell { count &+= $0.count }
      return count
    }

    func content(of column: Int) -> GatheredFamily.Content? { .instrument(self) }
  }
}
