extension Endpoint {
  /// How an endpoint listens and what it bears.
  public struct Configuration: Sendable, Hashable {
    /// Where to listen. 127.0.0.1:9464 by default, the port that OpenTelemetry gives to Prometheus exporters.
    public var address = EndpointAddress.loopback(port: 9464)
    /// The limits. The defaults suit a network that is not friendly.
    public var limits = Limits()

    /// Makes the default configuration.
    public init() {}

    /// Makes the default configuration for an address.
    public init(address: EndpointAddress) {
      self.address = address
    }
  }
}
