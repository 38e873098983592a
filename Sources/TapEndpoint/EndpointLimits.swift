extension Endpoint.Configuration {
  /// The limits of what clients can use. A request beyond one is answered with the status named here, or cut
  /// off. Timeouts are 1 ms to a day, and each number has a minimum: a start with another value throws
  /// ``EndpointError``. A limit reserves nothing.
  public struct Limits: Sendable {
    /// The bytes of a request's head: 414 if the request line exceeds them, else 431. 8 KiB.
    package var headBytes = 8192
    /// The header fields of a request: 431. 100.
    package var headerCount = 100
    /// From the first byte of a head to its last: 408. 5 s.
    package var headTimeout = Duration.seconds(5)
    /// From the start of the connection, or the last answer, to the next request. 75 s.
    package var idleTimeout = Duration.seconds(75)
    /// From a request to its answer: 503. 60 s.
    public var answerTimeout = Duration.seconds(60)
    /// The time for a client to receive each 64 KiB of an answer, and the rest at its end. 10 s.
    package var writeTimeout = Duration.seconds(10)
    /// Open connections. When full, a new one closes the longest-idle one; if none is idle, the one that has
    /// waited longest for its client to send or read. 512.
    public var connections = 512
    /// Requests that wait for an answer of `/logs` or the page: 503. 256, and at most half of the
    /// ``connections``. A request counts until it is answered, its time is over or its client has left,
    /// whether its handler returns or not. Scrapes have a limit of their own, a quarter of the
    /// ``connections``.
    public var requestsInFlight = 256
    /// The bytes of answers that clients have yet to read: 503. 64 MiB for scrapes, and as many for all other
    /// answers. A body of at most 16 KiB does not count, nor the second of two connections that send the same
    /// one, as scrapes do that arrive together. One answer may exceed the limit if nothing else waits.
    package var unsentBytes = 67_108_864

    package init() {}

    /// Of those that an app can set.
    var firstInvalid: String? {
      for (name, value) in [("connections", connections), ("requestsInFlight", requestsInFlight)]
      where value < 1 {
        return "\(name) is \(value) and must be at least 1"
      }
      // A day is as good as for ever, and far from the overflow of instants.
      if (Duration.milliseconds(1) ... .seconds(86_400)).contains(answerTimeout) { return nil }
      return "answerTimeout is \(answerTimeout) and must be between 1 ms and a day"
    }
  }
}
