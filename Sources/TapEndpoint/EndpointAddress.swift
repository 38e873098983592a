/// Where an endpoint listens.
public struct EndpointAddress: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of addresses.
  package enum Kind: Sendable, Hashable {
    case tcp(host: String, port: Int)
    case unix(path: String)
    case activated(name: String?)
  }

  package let kind: Kind

  /// An address and port of TCP. The host is a numeric address, an IPv6 one in brackets or without, or a name that
  /// resolves to one; the port 0 lets the system choose a free one, which ``Endpoint/address`` tells once the endpoint
  /// has started.
  public static func tcp(host: String, port: Int) -> EndpointAddress {
    let host = host.hasPrefix("[") ? Host.parse(host) ?? host : host
    return EndpointAddress(kind: .tcp(host: host, port: port))
  }

  /// A port of 127.0.0.1, which only processes of the same machine reach.
  public static func loopback(port: Int) -> EndpointAddress {
    .tcp(host: "127.0.0.1", port: port)
  }

  /// A Unix socket, which only processes of the same user can open (mode 0600). A socket that is left over at
  /// the path from a process that is gone is replaced, and the shutdown removes the file.
  public static func unix(path: String) -> EndpointAddress {
    EndpointAddress(kind: .unix(path: path))
  }

  /// A socket that systemd has opened for this process (`LISTEN_FDS`, sd_listen_fds(3)): the first one, or
  /// the one of that `FileDescriptorName=`.
  public static func activated(name: String? = nil) -> EndpointAddress {
    EndpointAddress(kind: .activated(name: name))
  }

  /// The port, if the address has one.
  public var port: Int? {
    if case .tcp(_, let port) = kind { port } else { nil }
  }

  /// The host, if the address has one.
  public var host: String? {
    if case .tcp(let host, _) = kind { host } else { nil }
  }

  /// `127.0.0.1:9464`, `[::1]:9464`, `/run/app/metrics.sock`.
  public var description: String {
    switch kind {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): path
    case .activated(let name): "the activated socket" + (name.map { " " + $0 } ?? "")
    }
  }

  /// Whether other machines may reach the address. It has to be a numeric one, as it is once it is bound.
  package var isReachableFromNetwork: Bool {
    guard case .tcp(let host, _) = kind else { return false }
    return !(host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127."))
  }
}
