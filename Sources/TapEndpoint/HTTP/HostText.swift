import TapCore
import TapLibc

/// A host as users and requests write it.
package enum HostText {
  /// Reads an IP address, an IPv6 one in brackets or without, or a name, which need not resolve.
  /// - Returns: the host without brackets; `nil` if the text is none.
  package static func parse(_ text: String) -> String? {
    // RFC 3986, section 3.2.2: brackets are for IPv6 alone.
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let host = isBracketed ? String(text.dropFirst().dropLast()) : text
    // A zone may follow (RFC 4007, section 11).
    let address = host.prefix { $0 != "%" }
    if isAddress(String(address), AF_INET6) { return host.hasSuffix("%") ? nil : host }
    return !isBracketed && (isIPv4(host) || isName(host)) ? host : nil
  }

  /// Whether the text is an IPv4 address.
  static func isIPv4(_ text: String) -> Bool { isAddress(text, AF_INET) }

  private static func isAddress(_ text: String, _ family: Int32) -> Bool {
    // Room for the address of either family.
    var address = in6_addr()
    return !text.utf8.contains(0) && inet_pton(family, text, &address) == 1
  }

  /// RFC 1123, section 2.1: labels of letters, digits and hyphens, of which the last is not a number, because
  /// a name can then not be mistaken for an IPv4 address. Underscores are in no host name but in those of
  /// containers.
  private static func isName(_ text: String) -> Bool {
    let name = text.hasSuffix(".") ? text.dropLast() : text[...]
    let hyphen = UInt8(ascii: "-")
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard name.utf8.count <= 253, let last = labels.last, !last.allSatisfy(\.isASCIIDigit) else {
      return false
    }
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
        && label.allSatisfy { $0.isUnreserved && $0 != UInt8(ascii: "~") }
    }
  }
}
