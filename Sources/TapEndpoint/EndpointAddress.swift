/// Where an endpoint listens.
public struct EndpointAddress: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of addresses.
  package enum Kind: Sendable, Hashable {
    case tcp(host: String, port: Int)
  }

  package let kind: Kind

  /// An address and port of TCP. The host is a numeric address or a name that resolves to one; the port 0
  /// lets the system choose a free one, which ``Endpoint/address`` tells once the endpoint has started.
  public static func tcp(host: String, port: Int) -> EndpointAddress {
    EndpointAddress(kind: .tcp(host: host, port: port))
  }

  /// A port of 127.0.0.1, which only processes of the same machine reach.
  public static func loopback(port: Int) -> EndpointAddress {
    .tcp(host: "127.0.0.1", port: port)
  }

  /// The port, if the address has one.
  public var port: Int? {
    switch kind {
    case .tcp(_, let port): port
    }
  }

  /// The host, if the address has one.
  public var host: String? {
    switch kind {
    case .tcp(let host, _): host
    }
  }

  /// `127.0.0.1:9464`, `[::1]:9464`.
  public var description: String {
    switch kind {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
