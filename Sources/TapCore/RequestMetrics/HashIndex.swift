/// Finds the numbers that were filed under a hash: open addressing with linear probing.
///
/// The owner keeps what the numbers stand for, and says which one is meant: a key is never built only to be looked
/// up.
struct HashIndex: Sendable {
  private var slots: [Slot] = []
  private var count = 0

  /// The first number with this hash for which `isMeant` holds.
  @inline(__always)
  func first(_ hash: UInt64, where isMeant: (Int) -> Bool) -> Int? {
    guard !slots.isEmpty else { return nil }
    let mask = slots.count &- 1
    var place = Int(truncatingIfNeeded: hash) & mask
    // At most half of the slots are taken: an empty one ends the search.
    while slots[place].number >= 0 {
      if slots[place].hash == hash, isMeant(Int(slots[place].number)) { return Int(slots[place].number) }
      place = (place &+ 1) & mask
    }
    return nil
  }

  /// Files a number, which must not be negative, under a hash.
  mutating func insert(_ number: Int, hash: UInt64) {
    guard let number = Int32(exactly: number) else { return }
    if (count + 1) * 2 > slots.count {
      let old = slots
      slots = Array(repeating: Slot(hash: 0, number: -1), count: max(16, old.count * 2))
      for slot in old where slot.number >= 0 { place(slot) }
    }
    place(Slot(hash: hash, number: number))
    count += 1
  }

  /// Forgets everything.
  mutating func removeAll() {
    slots = []
    count = 0
  }

  private mutating func place(_ slot: Slot) {
    let mask = slots.count - 1
    var place = Int(truncatingIfNeeded: slot.hash) & mask
    while slots[place].number >= 0 { place = (place + 1) & mask }
    slots[place] = slot
  }

  private struct Slot: Sendable {
    let hash: UInt64
    /// -1 where there is none.
    let number: Int32
  }
}
