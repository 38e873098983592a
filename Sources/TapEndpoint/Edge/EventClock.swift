import TapCore

/// Reads the clocks for the connections. The date is written anew only when its second has changed.
struct EventClock {
  private var second: Int64 = .min
  private var date: [UInt8] = []

  mutating func now() -> Moment {
    let current = Timestamp.now.nanosecondsSinceEpoch / 1_000_000_000
    if current != second {
      second = current
      date = HTTPDate.bytes(secondsSinceEpoch: current)
    }
    return Moment(instant: .now, date: date)
  }
}
