extension Duration {
  /// The duration in seconds, rounded to the nearest `Double`.
  package var seconds: Double {
    // `components` ends the process where the seconds need more than 64 bits, as those of a sum may.
    let (seconds, attoseconds) = min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  /// Whole nanoseconds, as near as 64 bits allow: up to 292 years.
  package var nanoseconds: Int64 {
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
