/// A hash for look-ups on the path of every request.
///
/// `Hasher` costs some 15 ns for each part of a key; this one takes eight bytes at a time and a multiplication for
/// each, folded as in wyhash. It is seeded per process, and the tables that use it are bounded: who finds
/// collisions all the same makes look-ups slower and nothing else.
struct ShortHash {
  private(set) var value = Self.seed

  @inline(__always)
  mutating func combine(_ word: UInt64) {
    let product = (value ^ word).multipliedFullWidth(by: 0x9fb2_1c65_1e98_df25)
    value = product.high ^ product.low
  }

  @inline(__always)
  mutating func combine(_ text: String) {
    let isWhole: Void? = text.utf8.withContiguousStorageIfAvailable { combine(UnsafeRawBufferPointer($0)) }
    if isWhole == nil { combine(UInt64(bitPattern: Int64(text.hashValue))) }
  }

  @inline(__always)
  mutating func combine(_ text: String?) {
    if let text { combine(text) } else { combine(0 as UInt64) }
  }

  @inline(__always)
  private mutating func combine(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while bytes.count &- offset >= 8 {
      combine(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset &+= 8
    }
    var rest = UInt64(truncatingIfNeeded: bytes.count)
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset &+= 1
    }
    combine(rest)
  }

  private static let seed = UInt64.random(in: .min ... .max)
}
