/// The TCP address that an endpoint listens at.
public struct EndpointAddress: Sendable, Equatable, CustomStringConvertible {
  /// Without brackets.
  package let host: String
  /// The port. That of a running endpoint is never 0.
  public let port: Int

  /// An address and a port. The host is a numeric address (IPv6 with or without brackets), or a name that
  /// resolves to one. For port 0 the system chooses a free port, which ``Endpoint/address`` has then.
  public static func tcp(host: String, port: Int) -> EndpointAddress {
    EndpointAddress(host: host.hasPrefix("[") ? HostText.parse(host) ?? host : host, port: port)
  }

  /// A port of 127.0.0.1, which only processes on the same machine reach.
  public static func loopback(port: Int) -> EndpointAddress { .tcp(host: "127.0.0.1", port: port) }

  /// `127.0.0.1:9464` or `[::1]:9464`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether other machines may reach the address. It has to be a numeric one, as it is once it is bound.
  package var isReachableFromNetwork: Bool {
    !(host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127."))
  }
}
