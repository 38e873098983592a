import SessionTap

/// One line that says how the requests go.
enum SummaryLine {
  static func text(_ counts: RequestTally.Counts, elapsed: Duration) -> String {
    let seconds = elapsed / .seconds(1)
    let total = counts.total
    let mean = total > 0 ? counts.totalDuration / total / .milliseconds(1) : 0
    func count(_ outcome: RequestOutcome) -> Int { counts.ended[outcome] ?? 0 }
    let rate = seconds > 0 ? Double(total) / seconds : 0
    return [
      "\(Int(seconds)) s", "\(total) requests", "\(oneDecimal(rate))/s", "\(counts.active) active",
      "\(count(.ok)) ok", "\(count(.httpError)) http errors", "\(count(.error)) errors",
      "\(count(.cancelled)) cancelled", "mean \(oneDecimal(mean)) ms",
    ].joined(separator: "  ")
  }

  private static func oneDecimal(_ value: Double) -> String {
    "\((value * 10).rounded() / 10)"
  }
}
