extension Registry {
  /// Counts values in buckets: durations, sizes.
  ///
  /// Each histogram has two parts. The classic one counts in the buckets of its family. The native one counts
  /// in up to 160 exponential buckets, which are finer and need no choice.
  ///
  /// A histogram is a cheap handle: keep it, so that a record needs no look-up. Histograms may be used from
  /// any thread. Cores that record in the same one do not wait for each other, and a scrape holds a lock only
  /// while it copies one cell.
  public final class Histogram: Sendable, Instrument {
    let layout: BucketLayout
    private let cells: StripedCells<Cell>
    private let dropped: DroppedValues

    init(layout: BucketLayout, dropped: DroppedValues) {
      self.layout = layout
      self.dropped = dropped
      cells = StripedCells({ Cell() }, counterCount: layout.bucketCount)
    }

    /// Counts one value, in the unit of the metric's name. A value that is infinite or not a number is dropped, and
    /// counted in `session_tap_dropped_values_total`.
    public func record(_ value: Double) {
      guard value.isFinite else { return dropped.increment() }
      record(value) { _, _ in }
    }

    @inline(__always)
    private func record(_ value: Double, _ keepExemplar: (inout Cell, _ bucket: Int) -> Void) {
      let bucket = layout.bucket(for: value)
      let nativeBucket = layout.nativeScale.bucket(of: value.magnitude)
      cells.withCell { cell, counts in
        counts[bucket] &+= 1
        cell.sum += value
        cell.native.record(value, bucket: nativeBucket)
        keepExemplar(&cell, bucket)
      }
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

    /// Runs an asynchronous operation and counts how long it took, in seconds, also if it throws or is cancelled. Waits count too.
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

    /// Counts one value and keeps it as the exemplar of its classic bucket, in place of the previous one.
    ///
    /// - Parameters:
    ///   - value: the value, in the unit of the metric's name.
    ///   - trace: the trace that the value belongs to. It is kept only if it is sampled: others cannot be
    ///     looked up.
    ///   - timestamp: the time of the value.
    public func record(
      _ value: Double, trace: TraceContext?, at timestamp: @autoclosure () -> Timestamp = .now
    ) {
      record(value, trace: trace, at: timestamp(), exemplars: .sampled)
    }

    /// The same, where the policy says which traces are kept.
    func record(
      _ value: Double, trace: TraceContext?, at timestamp: @autoclosure () -> Timestamp,
      exemplars: ExemplarPolicy
    ) {
      guard let trace, trace.isSampled || exemplars == .all, value.isFinite else { return record(value) }
      let exemplar = Exemplar(value: value, timestamp: timestamp(), trace: trace)
      let bucketCount = layout.bucketCount
      record(value) { cell, bucket in
        if cell.exemplars.isEmpty { cell.exemplars = Array(repeating: nil, count: bucketCount) }
        cell.exemplars[bucket] = exemplar
      }
    }

    /// Everything recorded so far, added up.
    public var snapshot: HistogramSnapshot {
      var snapshot = HistogramSnapshot()
      read(into: &snapshot, native: true, exemplars: true)
      return snapshot
    }

    /// The value below which the share `quantile` of all values lies, from the native part: 0.5 gives the median,
    /// 0.99 the 99th percentile. `nil` if nothing was recorded, or `quantile` is not within 0 and 1.
    ///
    /// Assumes that values are spread evenly on a logarithmic scale within a bucket, as Prometheus 3 does. The
    /// error is at most one bucket's width.
    public func quantile(_ quantile: Double) -> Double? { snapshot.native.quantile(quantile) }

    func read(into snapshot: inout HistogramSnapshot, native: Bool, exemplars: Bool) {
      snapshot.clear(bucketCount: layout.bucketCount)
      cells.forEachCell { cell, counts in
        snapshot.add(sum: cell.sum, counts: counts)
        if native { snapshot.add(cell.native) }
        if exemplars, !cell.exemplars.isEmpty { snapshot.add(cell.exemplars) }
      }
    }

    var activity: UInt64? {
      var count: UInt64 = 0
      cells.forEachCell { _, counts in for index in 0..<layout.bucketCount { count &+= counts[index] } }
      return count
    }

    var reading: InstrumentReading { .histogram(self) }

    var mark: HistogramSnapshot { snapshot }

    func move(after mark: HistogramSnapshot, to other: Histogram) {
      var contents = HistogramSnapshot()
      contents.clear(bucketCount: layout.bucketCount)
      cells.forEachCell { cell, counts in
        contents.add(sum: cell.sum, counts: counts)
        contents.add(cell.native)
        contents.add(cell.exemplars)
        cell = Cell()
        counts.update(repeating: 0, count: layout.bucketCount)
      }
      other.add(contents.subtracting(mark))
      add(mark)
    }

    private func add(_ contents: HistogramSnapshot) {
      cells.withCell { cell, counts in
        for (index, count) in contents.counts.enumerated() { counts[index] &+= count }
        cell.sum += contents.sum
        cell.native.add(contents.native)
        if cell.exemplars.isEmpty { cell.exemplars = contents.exemplars }
      }
    }

    /// The part of a cell beside the counts of its classic buckets.
    private struct Cell {
      var sum = 0.0
      var native = NativeBuckets()
      /// The latest exemplar of each classic bucket; empty until there is one.
      var exemplars: [Exemplar?] = []
    }
  }
}

/// The part that the histograms of one family share: the bounds, finite and ascending, and the bounds as text.
final class BucketLayout: Sendable {
  let upperBounds: [Double]
  /// For each bucket, `+Inf` last: `0.005"} `, the end of a sample's name as the text formats write it. One after another, and where
  /// each begins.
  let sampleEnds: [UInt8]
  let sampleEndOffsets: [Int]
  /// The bounds in blocks of eight; the last is padded with infinity, which no value is above.
  private let blocks: [SIMD8<Double>]
  let nativeScale = NativeScale()

  init(_ buckets: HistogramBuckets) {
    upperBounds = buckets.upperBounds
    let padding = repeatElement(Double.infinity, count: 7)
    let padded = buckets.upperBounds + padding
    blocks = stride(from: 0, to: buckets.upperBounds.count, by: 8).map { SIMD8(padded[$0..<($0 + 8)]) }
    var ends: [UInt8] = []
    var offsets = [0]
    for bound in buckets.upperBounds + [.infinity] {
      ends += "\(FloatText.bound(bound))\"} ".utf8
      offsets.append(ends.count)
    }
    (sampleEnds, sampleEndOffsets) = (ends, offsets)
  }

  var bucketCount: Int { upperBounds.count + 1 }

  /// The first classic bucket whose upper bound is not below `value`, found before any lock is taken.
  ///
  /// Binary search down to 16 bounds, which are then all compared at once: the branches of a binary search are not
  /// predictable, and for the usual 14 bounds their mispredictions cost 17 ns where the comparisons cost 2.
  @inline(__always)
  func bucket(for value: Double) -> Int {
    blocks.withUnsafeBufferPointer { blocks in
      var low = 0
      var high = blocks.count
      while high &- low > 2 {
        let middle = (low &+ high) >> 1
        if blocks[middle][0] < value { low = middle } else { high = middle }
      }
      var below = SIMD8<Int64>(repeating: 0)
      let values = SIMD8(repeating: value)
      for block in blocks[low..<high] { below.replace(with: below &+ 1, where: block .< values) }
      return low &* 8 &+ Int(below.wrappedSum())
    }
  }
}
