/// Limits the lines about refused requests to ten a minute, so that a flood of bad requests is not a flood of
/// lines.
package struct RefusalLog: Sendable {
  private var minuteBegin: ContinuousClock.Instant?
  private var lines = 0
  private var suppressed = 0

  package init() {}

  /// - Returns: how many refusals were not logged before this one; `nil` if this one is not to be logged
  ///   either.
  package mutating func admit(at instant: ContinuousClock.Instant) -> Int? {
    if minuteBegin.map({ $0.duration(to: instant) >= .seconds(60) }) ?? true {
      (minuteBegin, lines) = (instant, 0)
    }
    guard lines < 10 else {
      suppressed &+= 1
      return nil
    }
    lines += 1
    defer { suppressed = 0 }
    return suppressed
  }
}
