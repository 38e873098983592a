import TapCore

/// SHA-256 (FIPS 180-4), by which a Content-Security-Policy names the page's script and style. For texts that are no secret.
enum SHA256 {
  static func base64(of text: String) -> String {
    let bytes = hash(Array(text.utf8)).flatMap { word in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
    }
    return String(decoding: bytes.base64, as: UTF8.self)
  }

  /// Section 6.2.2, with the names that it uses.
  private static func hash(_ text: [UInt8]) -> [UInt32] {
    let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }.map(Double.init)
    let constants = primes.map { fraction(of: cubeRoot(of: $0)) }
    var hash = primes.prefix(8).map { fraction(of: $0.squareRoot()) }
    // Section 5.1.1: a bit, zeros, and the length in bits fill the last block.
    var message = text + [0x80]
    message += repeatElement(0, count: (120 - message.count % 64) % 64)
    message += (0..<8).map { UInt8(truncatingIfNeeded: (8 * text.count) >> (56 - 8 * $0)) }
    for block in stride(from: 0, to: message.count, by: 64) {
      var w = stride(from: block, to: block + 64, by: 4).map { start in
        message[start..<start + 4].reduce(UInt32(0)) { ($0 << 8) | UInt32($1) }
      }
      for t in 16..<64 {
        let s0: UInt32 = rotated(w[t - 15], 7) ^ rotated(w[t - 15], 18) ^ (w[t - 15] >> 3)
        let s1: UInt32 = rotated(w[t - 2], 17) ^ rotated(w[t - 2], 19) ^ (w[t - 2] >> 10)
        w.append(w[t - 16] &+ s0 &+ w[t - 7] &+ s1)
      }
      var (a, b, c, d, e, f, g, h) = (hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6], hash[7])
      for t in 0..<64 {
        let s1: UInt32 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
        let s0: UInt32 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
        let choice: UInt32 = (e & f) ^ (~e & g)
        let majority: UInt32 = (a & b) ^ (a & c) ^ (b & c)
        let t1 = h &+ s1 &+ choice &+ constants[t] &+ w[t]
        let t2 = s0 &+ majority
        (h, g, f, e, d, c, b, a) = (g, f, e, d &+ t1, c, b, a, t1 &+ t2)
      }
      hash = zip(hash, [a, b, c, d, e, f, g, h]).map { $0 &+ $1 }
    }
    return hash
  }

  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
    (word >> count) | (word << (32 - count))
  }

  /// Sections 4.2.2 and 5.3.3: the constants are the first 32 bits of the fractions of roots of primes.
  private static func fraction(of root: Double) -> UInt32 { UInt32((root - root.rounded(.down)) * 0x1p32) }

  /// By Newton's method, to the last bits of a `Double`, of which the constants take 35.
  private static func cubeRoot(of number: Double) -> Double {
    (0..<60).reduce(number) { root, _ in (2 * root + number / (root * root)) / 3 }
  }
}
