/// Measures time on the monotonic clock.
enum Stopwatch {
  /// Nanoseconds for each of `count` operations that `body` makes.
  @inline(__always)
  static func nanoseconds(per count: Int, _ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try body()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return (Double(seconds) * 1e9 + Double(attoseconds) * 1e-9) / Double(count)
  }
}
