import TapCore

extension Endpoint {
  /// The settings of an endpoint.
  public struct Configuration: Sendable {
    /// The address to listen at.
    public var address: EndpointAddress
    /// The limits. The defaults suit a hostile network.
    public var limits = Limits()
    /// Who may read: by default every client on this machine, and no other.
    public var access = Access()
    /// Receives a line for each refused request, at most ten a minute, with a count of the omitted ones.
    /// Called on the endpoint's queue: it must not block.
    public var logRefusal: (@Sendable (String) -> Void)?

    /// Makes the default configuration for an address: 127.0.0.1:9464, OpenTelemetry's default.
    public init(address: EndpointAddress = .loopback(port: 9464)) { self.address = address }
  }
}

extension Endpoint.Configuration {
  /// Which clients may read.
  ///
  /// If a file is set, every request needs credentials from it, or from either of two, except for the
  /// ``openPaths``. A change of a file takes effect within a second. While a file cannot be read, no
  /// credentials of its scheme are valid; while its file system hangs, requests that need credentials wait
  /// for it.
  public struct Access: Sendable {
    /// A file with one bearer token per line (RFC 6750).
    public var bearerTokenFile: String?
    /// A file with one `user:password` per line (RFC 7617), UTF-8.
    public var basicPasswordFile: String?
    /// The paths that need no credentials: by default that of orchestrators' probes.
    public var openPaths: Set<String> = ["/healthz"]
    /// Further host names for an endpoint on a loopback address, beside `localhost` and addresses: for
    /// example the name `metrics.example.com`, without a port, of a reverse proxy that passes on the Host of
    /// its clients. A request for any other host is refused (421), because a site whose name leads to
    /// 127.0.0.1 could read the answer (DNS rebinding). `/metrics` and `/healthz` accept any host.
    public var allowedHosts: Set<String> = []
    /// Whether to listen at an address that other machines reach without credentials. By default such a start
    /// is refused, because metrics and logs reveal a lot about an app.
    public var allowsAnyoneFromNetwork = false

    /// Reads a file of credentials of at most so many bytes.
    package var readFile: @Sendable (String, _ limit: Int) throws -> [UInt8] = System.contents

    package init() {}
  }
}
