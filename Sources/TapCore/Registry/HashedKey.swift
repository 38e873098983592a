/// A key with its hash, so that a long key is hashed before a lock is taken and not under it.
struct HashedKey<Key: Hashable & Sendable>: Hashable, Sendable {
  let key: Key
  private let hash: Int

  init(_ key: Key) {
    self.key = key
    hash = key.hashValue
  }

  static func == (lhs: HashedKey, rhs: HashedKey) -> Bool {
    lhs.hash == rhs.hash && lhs.key == rhs.key
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }
}
