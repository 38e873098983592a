extension String {
  /// The longest beginning of at most `limit` bytes of UTF-8 that does not end inside a Unicode scalar.
  func prefix(utf8Length limit: Int) -> Substring {
    guard utf8.count > limit else { return self[...] }
    var end = utf8.index(utf8.startIndex, offsetBy: limit)
    // At most three steps: a scalar has at most three continuation bytes (RFC 3629, section 3).
    while utf8[end] & 0b1100_0000 == 0b1000_0000 {
      end = utf8.index(before: end)
    }
    return self[..<end]
  }
}
