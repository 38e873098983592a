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
    /// Receives a line for each refused request: malformed, over a limit, or without valid credentials. At
    /// most ten lines a minute, with a count of the omitted ones. Called on the endpoint's queue: it must not
    /// block.
    public var logRefusal: (@Sendable (String) -> Void)?

    /// Makes the default configuration for an address: 127.0.0.1:9464, OpenTelemetry's default.
    public init(address: EndpointAddress = .loopback(port: 9464)) { self.address = address }
  }
}

extension Endpoint.Configuration {
  /// Which clients may read.
  ///
  /// If a file is set, every request needs credentials from it, or from either of two, except for the
  /// ``openPaths``. A change of a file takes effect within a second. To rotate a secret, add the new one,
  /// switch the clients, and remove the old one. While a file cannot be read, no credentials of its scheme
  /// are valid; while its file system hangs, requests that need credentials wait for it, and count among
  /// those in flight (``Limits/requestsInFlight``).
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
    /// 127.0.0.1 could read the answer (DNS rebinding). `/metrics` and `/healthz` accept any host, and so do
    /// addresses that other machines reach. Empty by default.
    public var allowedHosts: Set<String> = []
    /// Whether to listen at an address that other machines reach without credentials. By default such a start
    /// is refused, because metrics and logs reveal a lot about an app.
    public var allowsAnyoneFromNetwork = false

    /// Reads a file of credentials of at most so many bytes.
    package var readFile: @Sendable (String, _ limit: Int) throws -> [UInt8] = System.contents

    /// Makes the default: every client on this machine, and no other.
    public init() {}
  }
}

extension Endpoint.Configuration {
  /// The limits of what clients can use. A request beyond one is answered with the status named here, or cut
  /// off.
  ///
  /// Timeouts are 1 ms to a day, and each number has a minimum. A start with another value throws
  /// ``EndpointError``. Numbers have no maximum, because a limit reserves nothing.
  public struct Limits: Sendable {
    /// The bytes of a request's head: 414 if the request line exceeds them, else 431. 8 KiB.
    public var headBytes = 8192
    /// The header fields of a request: 431. 100.
    public var headerCount = 100
    /// From the first byte of a head to its last: 408. 5 s.
    public var headTimeout = Duration.seconds(5)
    /// From the start of the connection, or the last answer, to the next request. 75 s.
    public var idleTimeout = Duration.seconds(75)
    /// From a request to its answer: 503. 60 s.
    public var answerTimeout = Duration.seconds(60)
    /// The time for a client to receive each 64 KiB of an answer, and the rest at its end. 10 s.
    public var writeTimeout = Duration.seconds(10)
    /// Open connections. When full, a new one closes the longest-idle one; if none is idle, the one that has
    /// waited longest for its client to send or read. 512.
    public var connections = 512
    /// Requests that wait for an answer of `/logs` or the page: 503. 256, and at most half of the
    /// ``connections``. A request counts until it is answered, its time is over or its client has left,
    /// whether its handler returns or not. Scrapes have a limit of their own, a quarter of the
    /// ``connections``, and `/healthz` has none: other requests never keep them from an answer.
    public var requestsInFlight = 256
    /// The bytes of answers that clients have yet to read: 503. 64 MiB for scrapes, and as many for all other
    /// answers. A body of at most 16 KiB does not count, nor the second of two connections that send the same
    /// one, as scrapes do that arrive together. One answer may exceed the limit if nothing else waits.
    public var unsentBytes = 67_108_864

    /// Makes the default limits.
    public init() {}

    var firstInvalid: String? {
      let counts = [
        ("headBytes", headBytes, 64), ("headerCount", headerCount, 1), ("connections", connections, 1),
        ("requestsInFlight", requestsInFlight, 1), ("unsentBytes", unsentBytes, 0),
      ]
      let timeouts = [
        ("headTimeout", headTimeout), ("idleTimeout", idleTimeout), ("answerTimeout", answerTimeout),
        ("writeTimeout", writeTimeout),
      ]
      for (name, value, least) in counts where value < least {
        return "\(name) is \(value) and must be at least \(least)"
      }
      // A day is as good as for ever, and far from the overflow of instants.
      let range = Duration.milliseconds(1) ... .seconds(86_400)
      for (name, value) in timeouts where !range.contains(value) {
        return "\(name) is \(value) and must be between 1 ms and a day"
      }
      return nil
    }
  }
}
