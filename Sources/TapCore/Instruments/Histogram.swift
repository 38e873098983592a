import Synchronization

extension Registry {
  /// Counts values in buckets: durations, sizes.
  ///
  /// The classic part counts in the buckets of the family, the native part in up to 160 exponential buckets,
  /// which are finer and need no choice. Keep a histogram, so that a record needs no look-up. Any thread may
  /// use it.
  public final class Histogram: Sendable, SeriesRow {
    let layout: BucketLayout
    private let values: Mutex<ValueHistogram>
    private let dropped: DroppedValues

    init(layout: BucketLayout, dropped: DroppedValues) {
      (self.layout, self.dropped) = (layout, dropped)
      values = Mutex(ValueHistogram(layout))
    }

    /// Counts one value, in the unit of the metric's name. One that is infinite or not a number is dropped,
    /// and counted in `session_tap_dropped_values_total`.
    public func record(_ value: Double) { record(value, keeping: nil) }

    /// Counts a duration, in seconds.
    public func record(_ duration: Duration) { record(duration.seconds) }

    /// Runs an operation and counts how long it took, in seconds, also if it throws.
    ///
    ///     let reads = try registry.histogram("file_read_seconds", help: "Duration of reads.")
    ///     let data = try reads.measure { try Data(contentsOf: url) }
    public func measure<Result, Failure>(
      _ operation: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      let start = Instant.now
      defer { record(start.duration(to: .now)) }
      return try operation()
    }

    /// Runs an asynchronous operation and counts how long it took, its waits included, in seconds, also if it
    /// throws or is cancelled. By default it runs on the actor of the caller.
    ///
    ///     let lookups = try registry.histogram("user_lookup_seconds", help: "Duration of look-ups.")
    ///     let (user, _) = try await lookups.measure { try await session.data(from: url) }
    public func measure<Result, Failure>(
      isolation: isolated (any Actor)? = #isolation, _ operation: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
      let start = Instant.now
      defer { record(start.duration(to: .now)) }
      return try await operation()
    }

    /// Counts one value and keeps its trace, if that is sampled, as the exemplar of its classic bucket, in
    /// place of an earlier one.
    public func record(
      _ value: Double, trace: TraceContext?, at timestamp: @autoclosure () -> Timestamp = .now
    ) {
      guard let trace, trace.isSampled else { return record(value) }
      record(value, keeping: Exemplar(value: value, timestamp: timestamp(), trace: trace))
    }

    private func record(_ value: Double, keeping exemplar: Exemplar?) {
      guard value.isFinite else { return dropped.increment() }
      let bucket = layout.bucket(of: value)
      values.withLock { values in
        values.record(value, in: bucket)
        if let exemplar { values.keep(exemplar) }
      }
    }

    /// Everything recorded so far.
    package var snapshot: ValueHistogram { values.withLock { $0 } }

    /// The value below which the share `quantile` of all values lies, from the native part: 0.5 gives the
    /// median, 0.99 the 99th percentile. `nil` if nothing was recorded, or `quantile` is not within 0 and 1.
    ///
    /// Assumes that values are spread evenly on a logarithmic scale within a bucket, as Prometheus 3 does.
    /// The error is at most one bucket's width.
    public func quantile(_ quantile: Double) -> Double? { snapshot.native.quantile(quantile) }

    var activity: UInt64 { values.withLock { $0.count } }

    func content(of column: Int) -> GatheredFamily.Content? { .instrument(self) }
  }
}
