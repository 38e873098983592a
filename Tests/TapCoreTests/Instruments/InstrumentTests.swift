import TestSupport

@testable import TapCore

struct InstrumentTests {
  private let registry = Registry()

  @Test func `counters add up`() throws {
    let counter = try registry.counter("a_total", help: "")
    counter.increment()
    counter.increment(by: 41)
    counter.increment(by: 0.25)
    // Nothing happened: no value that a counter cannot take.
    counter.increment(by: 0)
    #expect(counter.value == 42.25)
    #expect(registry.value(of: "session_tap_dropped_values_total") == nil)
    for _ in 0..<2 { counter.increment(by: .greatestFiniteMagnitude) }
    #expect(counter.value == .greatestFiniteMagnitude)
  }

  @Test func `gauges go up and down`() throws {
    let gauge = try registry.gauge("a", help: "")
    #expect(gauge.value == 0)
    gauge.set(3)
    gauge.increment()
    gauge.decrement(by: 0.5)
    #expect(gauge.value == 3.5)
  }

  @Test func `measure what an operation took, also of one that throws`() async throws {
    struct Failure: Error {}
    let histogram = try registry.histogram("h_seconds", help: "")
    let start = ContinuousClock.now
    #expect(histogram.measure { 1 } == 1)
    let later = await histogram.measure {
      await Task.yield()
      return 2
    }
    #expect(later == 2)
    #expect(throws: Failure.self) { try histogram.measure { throw Failure() } }
    await #expect(throws: Failure.self) {
      try await histogram.measure {
        await Task.yield()
        throw Failure()
      }
    }
    // A cancelled one took its time too.
    await Task {
      await histogram.measure {
        withUnsafeCurrentTask { $0?.cancel() }
        await Task.yield()
      }
    }.value
    let snapshot = histogram.snapshot
    #expect(snapshot.count == 5)
    #expect(snapshot.sum > 0)
    #expect(.seconds(snapshot.sum) <= ContinuousClock.now - start)
  }

  @Test func `buckets include their upper bound`() throws {
    let histogram = try registry.histogram("h", help: "", buckets: [-1, 0, 2.5])
    for value in [-2, -1, -0.5, 0, 0.1, 2.5, 2.500_000_1, 1e9] { histogram.record(value) }
    let snapshot = histogram.snapshot
    #expect(snapshot.cumulativeCounts == [2, 4, 6, 8])
    #expect(snapshot.count == 8)
  }

  @Test(arguments: [1, 2, 3, 14, 255, 256])
  func `finds the bucket of every bound`(count: Int) throws {
    let bounds = (0..<count).map { Double($0) * 0.5 }
    let histogram = try registry.histogram("h", help: "", buckets: HistogramBuckets(bounds))
    for bound in bounds {
      histogram.record(bound)
      histogram.record(bound.nextUp)
    }
    let counts = histogram.snapshot.cumulativeCounts
    let expected: [UInt64] = (0..<count).map { UInt64($0) * 2 + 1 } + [UInt64(count) * 2]
    #expect(counts == expected)
  }

  @Test func `ladders`() {
    #expect(HistogramBuckets.bytes.upperBounds.first == 64)
    #expect(HistogramBuckets.bytes.upperBounds.last == 268_435_456)
    #expect(HistogramBuckets.linear(from: 1, width: 2, count: 3).upperBounds == [1, 3, 5])
    #expect(HistogramBuckets.exponential(from: 1, factor: 10, count: -1).upperBounds == [])
    #expect(HistogramBuckets.linear(from: 0, width: 1, count: .max).upperBounds.count == 257)
    let (phases, trips) = (RequestConfiguration().phaseBuckets, RequestConfiguration().roundTripBuckets)
    #expect(phases.upperBounds.first == 0.0005 && phases.upperBounds.last == 10)
    #expect(trips.upperBounds.first == 0.0001 && trips.upperBounds.last == 1)
  }

  @Test func `nothing is lost when threads meet`() throws {
    let counter = try registry.counter("a_total", help: "")
    let gauge = try registry.gauge("g", help: "")
    let histogram = try registry.histogram("h", help: "", buckets: [1, 2, 3])
    let threads = 8
    let rounds = 5_000
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      for round in 0..<rounds {
        counter.increment()
        gauge.increment()
        histogram.record(Double(round % 4) + 0.5)
        if round % 500 == 0 { _ = registry.exposition() }
      }
    }
    let total = threads * rounds
    #expect(counter.value == Double(total))
    #expect(gauge.value == Double(total))
    let quarters: [UInt64] = (1...4).map { UInt64(total / 4 * $0) }
    #expect(histogram.snapshot.cumulativeCounts == quarters)
    #expect(histogram.snapshot.sum == Double(total * 2))
  }

  /// Each cell has what one thread records.
  @Test func `sums beyond the greatest number, of both signs, add up to a number`() {
    let layout = BucketLayout([1])
    var sum = ValueHistogram(layout)
    for value in [Double.greatestFiniteMagnitude, -.greatestFiniteMagnitude] {
      var cell = ValueHistogram(layout)
      for _ in 0..<2 { cell.record(value) }
      sum.add(cell)
    }
    #expect(sum.sum == 0)
  }
}

extension ValueHistogram {
  /// The count of each classic bucket and all below it.
  var cumulativeCounts: [UInt64] { counts.reduce(into: []) { $0.append(($0.last ?? 0) + $1) } }
}
