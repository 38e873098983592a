/// The secrets of a file, and whether one was presented.
package struct Credentials: Sendable, Hashable {
  /// The schemes (RFC 9110, section 11.1).
  package enum Scheme: String, Sendable, Hashable {
    /// RFC 6750.
    case bearer = "Bearer"
    /// RFC 7617.
    case basic = "Basic"
  }

  private let secrets: [[UInt8]]

  /// Takes a secret from each line, without the blanks around it; empty lines do not count. Those of the Basic
  /// scheme are kept as they are presented, in Base64.
  package init(_ text: [UInt8], scheme: Scheme) {
    let lines = text.split { $0 == ByteClass.lineFeed || $0 == ByteClass.carriageReturn }
    secrets = lines.compactMap { line in
      var secret = line.drop { $0 == ByteClass.space || $0 == ByteClass.tab }
      while let last = secret.last, last == ByteClass.space || last == ByteClass.tab { secret.removeLast() }
      if secret.isEmpty { return nil }
      return scheme == .basic ? Base64.encoded(secret) : Array(secret)
    }
  }

  package var isEmpty: Bool { secrets.isEmpty }

  /// Whether one of the secrets was presented. How long it takes depends on the length of what was presented
  /// and on the number of secrets, and not on how much of one was right.
  package func contain(_ presented: [UInt8]) -> Bool {
    var isFound: UInt8 = 0
    for secret in secrets { isFound |= Self.equals(presented, secret) }
    return isFound != 0
  }

  /// 1 for equal bytes, else 0, without a branch on any of them.
  private static func equals(_ presented: [UInt8], _ secret: [UInt8]) -> UInt8 {
    var difference = presented.count ^ secret.count
    for index in presented.indices {
      // No secret is empty, so there is always a byte to compare with.
      difference |= Int(presented[index] ^ secret[index % secret.count])
    }
    return difference == 0 ? 1 : 0
  }
}
