import TapCore

/// The secrets of a file. Compares them with presented ones in constant time.
package struct Credentials: Sendable {
  /// The schemes (RFC 9110, section 11.1).
  package enum Scheme: String, Sendable, CaseIterable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 7617.
    case basic = "Basic"
  }

  /// What a client presents.
  package struct Presented: Sendable {
    package let scheme: Scheme
    /// The token, or user and password.
    package let secret: [UInt8]

    /// RFC 9110, section 11.6.2: a scheme whose case does not count, and a token. `nil` if the field is not of a known scheme.
    package init?(_ field: String) {
      let name = field.utf8.prefix { $0 != ByteClass.space }
      let token = Array(field.utf8[name.endIndex...].drop { $0 == ByteClass.space })
      let scheme = Scheme.allCases.first { name.isEqualIgnoringASCIICase(to: $0.rawValue) }
      guard let scheme, let secret = scheme == .basic ? Self.decodedBase64(token) : token else { return nil }
      (self.scheme, self.secret) = (scheme, secret)
    }

    /// RFC 4648, section 4. `nil` if the text is not what an encoder writes.
    private static func decodedBase64(_ text: [UInt8]) -> [UInt8]? {
      let digits = text.prefix { $0 != UInt8(ascii: "=") }
      guard text.count % 4 == 0, text.count - digits.count < 3,
        text[digits.endIndex...].allSatisfy({ $0 == UInt8(ascii: "=") })
      else { return nil }
      var (bits, count): (UInt32, Int) = (0, 0)
      var bytes: [UInt8] = []
      for digit in digits {
        guard let value = value(digit) else { return nil }
        (bits, count) = (bits << 6 | value, count + 6)
        if count >= 8 {
          count -= 8
          bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
      }
      return bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
    }

    private static func value(_ digit: UInt8) -> UInt32? {
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
      case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
      case UInt8(ascii: "+"): 62
      case UInt8(ascii: "/"): 63
      default: nil
      }
    }
  }

  private let secrets: [ArraySlice<UInt8>]

  /// Takes a secret from each line, without the blanks around it; empty lines do not count. `nil` if there is none.
  package init?(_ text: [UInt8]) {
    secrets = text.split { $0 == ByteClass.lineFeed || $0 == ByteClass.carriageReturn }
      .map(\.trimmingBlanks).filter { !$0.isEmpty }
    if secrets.isEmpty { return nil }
  }

  /// Whether one of the secrets was presented. The time depends on the size of the secrets alone.
  package func contain(_ presented: [UInt8]) -> Bool {
    // No secret is empty.
    guard let last = presented.indices.last else { return false }
    var matches = 0
    for secret in secrets {
      var difference = presented.count ^ secret.count
      for (index, byte) in secret.enumerated() { difference |= Int(byte ^ presented[min(index, last)]) }
      matches += difference == 0 ? 1 : 0
    }
    return matches > 0
  }
}
