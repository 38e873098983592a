/// Decides which refusals are told: the first ten, and then one more every six seconds. A flood of bad
/// requests must not become a flood of lines.
package struct RefusalLog: Sendable {
  private static let burst = 10
  private static let interval = Duration.seconds(6)

  private var tokens = RefusalLog.burst
  private var lastRefill: ContinuousClock.Instant?
  private var suppressed = 0

  package init() {}

  /// - Returns: how many refusals were not told before this one; `nil` if this one is not told either.
  package mutating func admit(at instant: ContinuousClock.Instant) -> Int? {
    let last = lastRefill ?? instant
    let refills = Int(min(last.duration(to: instant) / Self.interval, Double(Self.burst)))
    if refills > 0 || lastRefill == nil {
      tokens = min(tokens + refills, Self.burst)
      lastRefill = refills == Self.burst ? instant : last + Self.interval * refills
    }
    guard tokens > 0 else {
      suppressed &+= 1
      return nil
    }
    tokens -= 1
    defer { suppressed = 0 }
    return suppressed
  }
}
