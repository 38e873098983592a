#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The host of an address, as users write it: an IP address, an IPv6 one in brackets or without, or a name.
package enum Host {
  /// The host without brackets; `nil` if the text is none. Whether a name resolves is not asked.
  package static func parse(_ text: String) -> String? {
    // RFC 3986, section 3.2.2: brackets are for IPv6 alone.
    if text.hasPrefix("[") {
      let address = String(text.dropFirst().dropLast())
      return text.hasSuffix("]") && isIPv6(address) ? address : nil
    }
    return isIPv6(text) || isIPv4(text) || isName(text) ? text : nil
  }

  private static func isIPv4(_ text: String) -> Bool {
    var address = in_addr()
    return !text.utf8.contains(0) && inet_pton(AF_INET, text, &address) == 1
  }

  /// An address, and perhaps a zone (RFC 4007, section 11).
  private static func isIPv6(_ text: String) -> Bool {
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, parts[1].isEmpty || !parts[1].utf8.allSatisfy(ByteClass.isUnreserved) {
      return false
    }
    var address = in6_addr()
    return !text.utf8.contains(0) && inet_pton(AF_INET6, String(parts[0]), &address) == 1
  }

  /// RFC 1123, section 2.1: labels of letters, digits and hyphens, of which the last is not a number, because a name can
  /// then not be mistaken for an IPv4 address. Underscores are in no host name but in those of containers.
  private static func isName(_ text: String) -> Bool {
    let name = text.hasSuffix(".") ? text.dropLast() : text[...]
    let hyphen = UInt8(ascii: "-")
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard name.utf8.count <= 253, let last = labels.last,
      last.contains(where: { ByteClass.decimalValue($0) == nil })
    else { return false }
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
        && label.allSatisfy { byte in
          ByteClass.isUnreserved(byte) && byte != UInt8(ascii: "~") && byte != UInt8(ascii: ".")
        }
    }
  }
}
