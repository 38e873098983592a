/// One ended request: the single value that every consumer receives.
public struct RequestObservation: Sendable, Hashable {
  /// What was known when the request started.
  public var request: RequestDescription
  /// When loading started.
  public var start: Timestamp
  /// From the start of loading to the last byte of the body, redirects and challenges included. In whole nanoseconds,
  /// at most 292 years.
  public var duration: Duration {
    get { .nanoseconds(elapsed) }
    set { elapsed = newValue.nanoseconds }
  }
  /// How the request ended.
  public var end: RequestEnd
  /// The bytes of the request's body, or `nil` where nothing tells them. Unknown is not 0.
  public var requestBodySize: Int64?
  /// The bytes of the response's body, or `nil` where nothing tells them. Unknown is not 0.
  public var responseBodySize: Int64?
  /// From the start of loading to the first byte of the final response, or `nil` where that is unknown. In whole
  /// nanoseconds.
  public var timeToFirstByte: Duration? {
    get { elapsedToFirstByte.map { .nanoseconds($0) } }
    set { elapsedToFirstByte = newValue?.nanoseconds }
  }
  /// Where the time went, as far as it is known.
  public var timings: RequestTimings
  /// The version of HTTP that the response came by, or `nil` where it is unknown.
  public var protocolVersion: NetworkProtocolVersion?
  /// The address of the server's, or the proxy's, side of the connection (OpenTelemetry, `network.peer.address`), or
  /// `nil` where it is unknown.
  public var peerAddress: String?
  /// How many connections the request's last leg has opened, or `nil` where that is unknown.
  public var openedConnections: Int?
  /// Whether the request went over a connection that was open before, or `nil` where that is unknown or it got none.
  public var isConnectionReused: Bool?
  /// How many times the request was sent again, for a redirect or with credentials (OpenTelemetry,
  /// `http.request.resend_count`), or `nil` where nothing tells it.
  public var resendCount: Int?
  /// Whether the response came from the session's cache and not from the server.
  public var isFromCache: Bool
  /// Headers of the response, by name, for a consumer that the app allows to show some. Empty where nobody
  /// collects them.
  public var responseHeaders: [String: String]

  /// ``duration`` as a number, which needs no arithmetic of 128 bits on its way into a histogram and a line.
  package private(set) var elapsed: Int64
  /// ``timeToFirstByte``, likewise.
  package private(set) var elapsedToFirstByte: Int64?

  /// Makes an observation.
  public init(
    request: RequestDescription, start: Timestamp, duration: Duration, end: RequestEnd,
    requestBodySize: Int64? = nil, responseBodySize: Int64? = nil, timeToFirstByte: Duration? = nil,
    timings: RequestTimings = RequestTimings(), protocolVersion: NetworkProtocolVersion? = nil,
    peerAddress: String? = nil, openedConnections: Int? = nil, isConnectionReused: Bool? = nil,
    resendCount: Int? = nil, isFromCache: Bool = false, responseHeaders: [String: String] = [:]
  ) {
    self.init(
      request: request, start: start, elapsed: duration.nanoseconds, end: end,
      requestBodySize: requestBodySize,
      responseBodySize: responseBodySize, elapsedToFirstByte: timeToFirstByte?.nanoseconds,
      timings: timings, protocolVersion: protocolVersion, peerAddress: peerAddress,
      openedConnections: openedConnections, isConnectionReused: isConnectionReused, resendCount: resendCount,
      isFromCache: isFromCache, responseHeaders: responseHeaders)
  }

  /// - Parameters:
  ///   - elapsed: The duration in nanoseconds.
  ///   - elapsedToFirstByte: The time to the first byte in nanoseconds.
  package init(
    request: RequestDescription, start: Timestamp, elapsed: Int64, end: RequestEnd,
    requestBodySize: Int64? = nil, responseBodySize: Int64? = nil, elapsedToFirstByte: Int64? = nil,
    timings: RequestTimings = RequestTimings(), protocolVersion: NetworkProtocolVersion? = nil,
    peerAddress: String? = nil, openedConnections: Int? = nil, isConnectionReused: Bool? = nil,
    resendCount: Int? = nil, isFromCache: Bool = false, responseHeaders: [String: String] = [:]
  ) {
    self.request = request
    self.start = start
    self.elapsed = elapsed
    self.end = end
    self.requestBodySize = requestBodySize
    self.responseBodySize = responseBodySize
    self.elapsedToFirstByte = elapsedToFirstByte
    self.timings = timings
    self.protocolVersion = protocolVersion
    self.peerAddress = peerAddress
    self.openedConnections = openedConnections
    self.isConnectionReused = isConnectionReused
    self.resendCount = resendCount
    self.isFromCache = isFromCache
    self.responseHeaders = responseHeaders
  }
}
