import TapCore
import TapLibc

/// A host as users and requests write it.
package enum HostText {
  /// Reads an IP address, an IPv6 one in brackets or without, or a name, which need not resolve.
  /// - Returns: the host without brackets; `nil` if the text is no host.
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

/// The hosts that a request may name at an address of the loopback.
///
/// A page of any site can have the site's name resolve to 127.0.0.1 (DNS rebinding). Its reader's browser
/// then takes the answers from there for the site's own, and lets the page read them. Such requests name the
/// site. An address in place of a name is no site's.
struct AllowedHosts: Sendable {
  private let names: Set<String>

  init(_ names: Set<String>) { self.names = Set(names.map(Self.normalized)) }

  /// The answer to a request for another host; `nil` if it names an allowed one, or none, as browsers never
  /// do.
  func refusal(_ request: EndpointRequest) -> EndpointResponse? {
    guard let authority = request.authority, authority.utf8.first != UInt8(ascii: "[") else { return nil }
    let host = authority.utf8.prefix { $0 != UInt8(ascii: ":") }
    // No name is longer (RFC 1035, section 3.1), but for the dot that may end it.
    let name = host.count <= 254 ? Self.normalized(String(Substring(host))) : ""
    if HostText.isIPv4(name) { return nil }
    // RFC 6761, section 6.3: "localhost." and names within it are those of this machine.
    if name == "localhost" || name.hasSuffix(".localhost") || names.contains(name) { return nil }
    // RFC 9110, section 15.5.20.
    return .refusal(
      421, "ask for localhost or an address of this machine, or add the host to access.allowedHosts")
  }

  /// In lower case, without the dot that may end a name.
  private static func normalized(_ name: String) -> String {
    let name = name.lowercased()
    return name.hasSuffix(".") ? String(name.dropLast()) : name
  }
}
