/// A key with its hash, so that a long key is hashed before a lock is taken and not under it.
struct HashedKey<Key: Hashable & Sendable>: Hashable, Sendable {
  let key: Key
  private let hash: Int

  init(_ key: Key) {
    self.init(key, hash: key.hashValue)
  }

  /// - Parameter hash: The same for equal keys.
  init(_ key: Key, hash: Int) {
    self.key = key
    self.hash = hash
  }

  static func == (lhs: HashedKey, rhs: HashedKey) -> Bool {
    lhs.hash == rhs.hash && lhs.key == rhs.key
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(hash)
  }
}
