extension Endpoint {
  /// The settings of an endpoint.
  public struct Configuration: Sendable {
    /// The address to listen at.
    public var address: EndpointAddress
    /// The limits. The defaults suit a hostile network.
    public var limits = Limits()
    /// The access. By default every client on this machine, and no other.
    public var access = Access()
    /// Receives a line for each request that was refused: malformed, over a limit, or without valid credentials. At
    /// most ten a minute, with a count of those that were left out. Called on the queue that serves every connection:
    /// it must not block.
    public var logRefusal: (@Sendable (String) -> Void)?

    /// Makes the default configuration for an address: 127.0.0.1:9464, the port that OpenTelemetry gives to Prometheus exporters.
    public init(address: EndpointAddress = .loopback(port: 9464)) {
      self.address = address
    }
  }
}

extension Endpoint.Configuration {
  /// The clients that may read.
  ///
  /// With one file or both, every request must carry credentials from one of them, except for the ``openPaths``. The
  /// files are read for each request, so that secrets can be rotated: add the new one to the file, switch the
  /// clients, remove the old one. While a file cannot be read, no credentials of its scheme are valid.
  public struct Access: Sendable, Hashable {
    /// A file with one bearer token per line (RFC 6750).
    public var bearerTokenFile: String?
    /// A file with one `user:password` per line (RFC 7617), UTF-8.
    public var basicPasswordFile: String?
    /// The paths that need no credentials. By default those that orchestrators request, which have none.
    public var openPaths: Set<String> = ["/healthz", "/readyz"]
    /// The names by which an endpoint on the loopback is asked for, beside `localhost` and addresses, such as that of a reverse proxy
    /// which passes on the Host of its clients: `metrics.example.com`, without a port. A request for any other host is refused (421),
    /// but for `/metrics`, `/healthz` and `/readyz`: the page of a site whose name leads to 127.0.0.1 could read the answer (DNS
    /// rebinding). Without effect on Unix sockets and on addresses that other machines reach. None by default.
    public var allowedHosts: Set<String> = []
    /// Whether to listen on an address that other machines reach without any of the files above. By default the start
    /// is refused, because metrics and logs reveal a lot about an app.
    public var allowsAnyoneFromNetwork = false

    /// Makes the default: every client, but on this machine only.
    public init() {}
  }
}
