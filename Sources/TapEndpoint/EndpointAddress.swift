import TapCore

/// The address that an endpoint listens at.
public struct EndpointAddress: Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable {
    case tcp(host: String, port: Int)
    case unix(path: String)
  }

  package let kind: Kind

  /// A TCP address and port. The host is a numeric address (IPv6 with or without brackets), or a name that
  /// resolves to one. For port 0 the system chooses a free port, which ``Endpoint/address`` has then.
  public static func tcp(host: String, port: Int) -> EndpointAddress {
    let host = host.hasPrefix("[") ? parseHost(host) ?? host : host
    return EndpointAddress(kind: .tcp(host: host, port: port))
  }

  /// A port of 127.0.0.1, which only processes on the same machine reach.
  public static func loopback(port: Int) -> EndpointAddress { .tcp(host: "127.0.0.1", port: port) }

  /// A Unix socket, which only processes of the same user can open (mode 0600). The start replaces a socket
  /// that an ended process has left at the path, and the shutdown removes the file.
  public static func unix(path: String) -> EndpointAddress { EndpointAddress(kind: .unix(path: path)) }

  /// The port, if the address has one.
  public var port: Int? { if case .tcp(_, let port) = kind { port } else { nil } }

  package var host: String? { if case .tcp(let host, _) = kind { host } else { nil } }

  /// `127.0.0.1:9464`, `[::1]:9464`, `/run/app/metrics.sock`.
  public var description: String {
    switch kind {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    }
  }

  /// Whether other machines may reach the address. It has to be a numeric one, as it is once it is bound.
  package var isReachableFromNetwork: Bool {
    guard case .tcp(let host, _) = kind else { return false }
    return !(host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127."))
  }

  /// A host as users write it: an IP address, an IPv6 one in brackets or without, or a name, which need not resolve.
  /// - Returns: the host without brackets; `nil` if the text is none.
  package static func parseHost(_ text: String) -> String? {
    // RFC 3986, section 3.2.2: brackets are for IPv6 alone.
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let host = isBracketed ? String(text.dropFirst().dropLast()) : text
    // A zone may follow (RFC 4007, section 11).
    let address = host.prefix { $0 != "%" }
    if SocketAddress.isIPv6(String(address)) { return host.hasSuffix("%") ? nil : host }
    return !isBracketed && (SocketAddress.isIPv4(host) || isName(host)) ? host : nil
  }

  /// RFC 1123, section 2.1: labels of letters, digits and hyphens, of which the last is not a number, because a name can
  /// then not be mistaken for an IPv4 address. Underscores are in no host name but in those of containers.
  private static func isName(_ text: String) -> Bool {
    let name = text.hasSuffix(".") ? text.dropLast() : text[...]
    let hyphen = UInt8(ascii: "-")
    let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard name.utf8.count <= 253, let last = labels.last, !last.allSatisfy(\.isASCIIDigit) else {
      return false
    }
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
        && label.allSatisfy { ByteClass.unreserved.contains($0) && $0 != UInt8(ascii: "~") }
    }
  }
}
