extension Duration {
  /// The duration in seconds, rounded to the nearest `Double`.
  package var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
