/// Since when nothing has been recorded in a series.
///
/// Belongs to the table of the series' family: whoever touches it holds that table's lock.
final class IdleMark: @unchecked Sendable {
  private var activity: UInt64 = 0
  private var since: ContinuousClock.Instant?

  /// Somebody has asked for the series.
  func touch() {
    since = nil
  }

  /// How long the series has been idle.
  ///
  /// - Parameter activity: a number that changes with every record.
  func idleTime(at now: ContinuousClock.Instant, activity: UInt64) -> Duration {
    guard let since, activity == self.activity else {
      self.activity = activity
      self.since = now
      return .zero
    }
    return now - since
  }
}
