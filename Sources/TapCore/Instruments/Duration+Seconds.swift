extension Duration {
  /// The duration in seconds, rounded to the nearest `Double`.
  package var seconds: Double {
    let (seconds, attoseconds) = boundedComponents
    return Double(seconds) + Double(attoseconds) * 1e-18
  }

  /// Whole nanoseconds, as near as 64 bits allow: up to 292 years.
  package var nanoseconds: Int64 {
    let (seconds, attoseconds) = boundedComponents
    let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
  }

  /// The components, as near as 64 bits of seconds allow. A sum of durations may be longer, and `components` traps then.
  private var boundedComponents: (seconds: Int64, attoseconds: Int64) {
    min(max(self, .seconds(Int64.min)), .seconds(Int64.max)).components
  }
}
