extension Timestamp {
  /// Whole seconds, rounded down, and the nanoseconds since then.
  var secondsAndNanoseconds: (seconds: Int64, nanoseconds: Int64) {
    let billion: Int64 = 1_000_000_000
    let (quotient, remainder) = nanosecondsSinceEpoch.quotientAndRemainder(dividingBy: billion)
    return remainder < 0 ? (quotient - 1, remainder + billion) : (quotient, remainder)
  }
}
