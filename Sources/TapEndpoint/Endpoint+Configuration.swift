extension Endpoint {
  /// How an endpoint listens and what it bears.
  public struct Configuration: Sendable {
    /// Where to listen. 127.0.0.1:9464 by default, the port that OpenTelemetry gives to Prometheus exporters.
    public var address = EndpointAddress.loopback(port: 9464)
    /// The limits. The defaults suit a network that is not friendly.
    public var limits = Limits()
    /// Who may read. Anybody by default, but then only on this machine.
    public var access = Access()
    /// Takes a line about requests that were refused: malformed, over a limit, or without the right
    /// credentials. At most ten a minute, with a count of those that were left out. Called on the queue that
    /// serves every connection: it must not block.
    public var logRefusal: (@Sendable (String) -> Void)?

    /// Makes the default configuration.
    public init() {}

    /// Makes the default configuration for an address.
    public init(address: EndpointAddress) {
      self.address = address
    }
  }
}
