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
    let histogram = try registry.histogram("h", help: "")
    for value in [-1, -0.5, .nan, .infinity] { counter.increment(by: value) }
    histogram.record(.infinity)
    histogram.record(.nan, trace: .random(isSampled: true))
    #expect(counter.value == 42.25 && histogram.snapshot.count == 0)
    let dropped = ["a_total", "h"].map {
      registry.value(ofSeries: "session_tap_dropped_values_total{metric=\"\($0)\"}")
    }
    #expect(dropped == [4, 2])
    let most = Double.greatestFiniteMagnitude
    for value in [most, most, -1] {
      counter.increment(by: value)
      histogram.record(value)
    }
    #expect([counter.value, histogram.snapshot.sum] == [most, most])
    for _ in 0..<3 { histogram.record(-most) }
    #expect(histogram.snapshot.sum.isFinite)
  }

  @Test func `gauges go up and down`() throws {
    let gauge = try registry.gauge("a", help: "")
    #expect(gauge.value == 0)
    gauge.set(3)
    gauge.increment()
    gauge.decrement(by: 0.5)
    gauge.decrement()
    #expect(gauge.value == 2.5)
  }

  @Test func `measure what an operation took, also of one that throws`() async throws {
    struct Failure: Error {}
    let histogram = try registry.histogram("h_seconds", help: "", buckets: [0.000_9])
    let start = ContinuousClock.now
    @Sendable func fail() throws {
      Self.passMillisecond()
      throw Failure()
    }
    @Sendable func passLater() async -> Int {
      await Task.yield()
      return Self.passMillisecond() + 1
    }
    let found = [histogram.measure { Self.passMillisecond() }, await histogram.measure(passLater)]
    #expect(found == [1, 2])
    #expect(throws: Failure.self) { try histogram.measure(fail) }
    await #expect(throws: Failure.self) {
      try await histogram.measure {
        _ = await passLater()
        throw Failure()
      }
    }
    // A cancelled one took its time too.
    await Task {
      await histogram.measure {
        withUnsafeCurrentTask { $0?.cancel() }
        _ = await passLater()
      }
    }.value
    let snapshot = histogram.snapshot
    #expect(snapshot.cumulativeCounts == [0, 5])
    #expect(.seconds(snapshot.sum) <= ContinuousClock.now - start)
  }

  @discardableResult private static func passMillisecond() -> Int {
    let start = Instant.now
    while start.duration(to: .now) < .milliseconds(1) {}
    return 1
  }

  @Test func `buckets include their upper bound`() throws {
    let histogram = try registry.histogram("h", help: "", buckets: [-1, 0, 2.5])
    for value in [-2, -1, -0.5, 0, 0.1, 2.5, 2.500_000_1, 1e9] { histogram.record(value) }
    #expect(histogram.snapshot.cumulativeCounts == [2, 4, 6, 8] && histogram.snapshot.count == 8)
    for count in [1, 2, 3, 14, 255, 256] {
      let bounds = (0..<count).map { Double($0) * 0.5 }
      let histogram = try Registry().histogram("h", help: "", buckets: HistogramBuckets(bounds))
      for value in bounds.flatMap({ [$0, $0.nextUp] }) { histogram.record(value) }
      let expected: [UInt64] = (0..<count).map { UInt64($0) * 2 + 1 } + [UInt64(count) * 2]
      #expect(histogram.snapshot.cumulativeCounts == expected)
    }
  }

  @Test func `ladders`() {
    let requests = RequestConfiguration()
    let powers: [Double] = (3...14).map { (power: Int) in Double(1 << (2 * power)) }
    let rows: [(HistogramBuckets, [Double])] = [
      (
        requests.durationBuckets, [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
      ),
      (requests.bodySizeBuckets, powers), (.exponential(from: 1, factor: 10, count: -1), []),
      (requests.phaseBuckets, [0.0005, 0.0025, 0.01, 0.05, 0.1, 0.25, 1, 2.5, 10]),
      (
        requests.roundTripBuckets,
        [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
      ),
    ]
    #expect(rows.map(\.0.upperBounds) == rows.map(\.1))
    #expect(HistogramBuckets.exponential(from: 1, factor: 2, count: .max).upperBounds.count == 257)
  }

  @Test func `nothing is lost when threads meet, and counts add up at any moment`() throws {
    let counter = try registry.counter("a_total", help: "")
    let gauge = try registry.gauge("g", help: "")
    let histogram = try registry.histogram("h", help: "", buckets: [1, 2, 3])
    let threads = 8
    let rounds = Extent.of(500, extensive: 5_000)
    let seen = Mutex<[ValueHistogram]>([])
    DispatchQueue.concurrentPerform(iterations: threads) { thread in
      for round in 0..<rounds {
        counter.increment()
        gauge.increment()
        histogram.record(Double(round % 4) + 0.5)
        if round % 100 == 0 { seen.withLock { $0.append(histogram.snapshot) } }
      }
    }
    let total = threads * rounds
    let sum = Double(total)
    expectEqual([counter.value, gauge.value, histogram.snapshot.sum], [sum, sum, 2 * sum])
    let quarters: [UInt64] = (1...4).map { UInt64(total / 4 * $0) }
    #expect(histogram.snapshot.cumulativeCounts == quarters)
    #expect(seen.withLock { $0.allSatisfy { $0.native.count == $0.count } })
  }
}

extension ValueHistogram {
  /// The count of each classic bucket and all below it.
  var cumulativeCounts: [UInt64] { counts.reduce(into: []) { $0.append(($0.last ?? 0) + $1) } }
}
