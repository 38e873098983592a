/// A count for each case of a small enumeration.
struct Tally<Key: CaseIterable & RawRepresentable & Sendable>: Sendable, Hashable where Key.RawValue == Int {
  private var counts = [UInt64](repeating: 0, count: Key.allCases.count)

  var total: UInt64 { counts.reduce(0, &+) }

  subscript(key: Key) -> UInt64 {
    get { counts.indices.contains(key.rawValue) ? counts[key.rawValue] : 0 }
    set { if counts.indices.contains(key.rawValue) { counts[key.rawValue] = newValue } }
  }

  static func += (lhs: inout Tally, rhs: Tally) {
    for index in lhs.counts.indices { lhs.counts[index] &+= rhs.counts[index] }
  }
}
