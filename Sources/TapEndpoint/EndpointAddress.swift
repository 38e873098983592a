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
    let host = host.hasPrefix("[") ? HostText.parse(host) ?? host : host
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
}
