extension UpstreamTime {
  /// Three calls in 12 ms, two of them beside each other.
  package static var example: UpstreamTime {
    with(UpstreamTime()) {
      $0.nanoseconds = 12_000_000
      $0.clients = [
        Client(name: "payments", requestCount: 2, nanoseconds: 14_000_000),
        Client(name: "stock", requestCount: 1, nanoseconds: 5_000_000),
      ]
    }
  }
}

/// When calls were active, as a test knows it, in nanoseconds: no longer than from before the app made them
/// until it had their ends, and no shorter than the server had them.
package struct TrueCalls: Sendable {
  private var outer: [Range<Int64>] = []
  private var inner: [Range<Int64>] = []

  package init() {}

  package mutating func add(outer: Range<Int64>, inner: Range<Int64>) {
    self.outer.append(outer)
    self.inner.append(inner)
  }

  /// The time in which at least one was active.
  package var union: ClosedRange<Duration> {
    let least = Self.union(of: inner)
    return least...max(least, Self.union(of: outer))
  }

  /// The sum of their times.
  package var sum: ClosedRange<Duration> {
    func sum(_ times: [Range<Int64>]) -> Duration { .nanoseconds(times.reduce(0) { $0 + Int64($1.count) }) }
    return sum(inner)...max(sum(inner), sum(outer))
  }

  private static func union(of times: [Range<Int64>]) -> Duration {
    var (sum, end) = (Int64(0), Int64.min)
    for time in times.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      sum += max(0, time.upperBound - max(end, time.lowerBound))
      end = max(end, time.upperBound)
    }
    return .nanoseconds(sum)
  }
}
