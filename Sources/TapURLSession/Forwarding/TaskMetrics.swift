import TapCore
import TapFoundation

extension RequestTimings {
  /// The phases, by the definitions of `URLSessionTaskTransactionMetrics`: the connection's time includes the handshake,
  /// and a transfer over a connection that was open has neither look-up nor connection. `nil` is what did not take place.
  ///
  /// Foundation on Linux measures none of this (swift-corelibs-foundation #4988): there it is compiled and tested, and not used.
  init(
    fetchStart: Date? = nil, domainLookupStart: Date? = nil, domainLookupEnd: Date? = nil,
    connectStart: Date? = nil, secureConnectionStart: Date? = nil, secureConnectionEnd: Date? = nil,
    connectEnd: Date? = nil, requestStart: Date? = nil, responseStart: Date? = nil, responseEnd: Date? = nil
  ) {
    self.init()
    let turn = domainLookupStart ?? connectStart ?? requestStart
    if let queue = Self.span(fetchStart, turn), queue > .zero { self[.queue] = queue }
    self[.resolve] = Self.span(domainLookupStart, domainLookupEnd)
    self[.connect] = Self.span(connectStart, secureConnectionStart ?? connectEnd)
    self[.tls] = Self.span(secureConnectionStart, secureConnectionEnd)
    self[.processing] = Self.span(requestStart, responseStart)
    self[.transfer] = Self.span(responseStart, responseEnd)
  }

  /// A clock that is set back meanwhile makes 0 of it.
  private static func span(_ start: Date?, _ end: Date?) -> Duration? {
    guard let start, let end else { return nil }
    return .seconds(max(0, min(end.timeIntervalSince(start), 1e9)))
  }
}

extension URLSessionTaskMetrics {
  /// The status code of the last leg.
  var statusCode: Int? { (transactionMetrics.last?.response as? HTTPURLResponse)?.statusCode }
}

extension RequestObservation {
  /// Adds what URLSession measured of a transfer, of its last leg.
  mutating func add(_ metrics: URLSessionTaskMetrics) {
    guard let last = metrics.transactionMetrics.last else { return }
    requestBodySize = last.countOfRequestBodyBytesSent
    responseBodySize = last.response == nil ? nil : last.countOfResponseBodyBytesReceived
    timings = RequestTimings(
      fetchStart: last.fetchStartDate, domainLookupStart: last.domainLookupStartDate,
      domainLookupEnd: last.domainLookupEndDate, connectStart: last.connectStartDate,
      secureConnectionStart: last.secureConnectionStartDate,
      secureConnectionEnd: last.secureConnectionEndDate, connectEnd: last.connectEndDate,
      requestStart: last.requestStartDate, responseStart: last.responseStartDate,
      responseEnd: last.responseEndDate)
    protocolVersion = last.networkProtocolName.flatMap(NetworkProtocolVersion.init(alpn:))
    peerAddress = last.remoteAddress
    resendCount = metrics.redirectCount
    isFromCache = last.resourceFetchType == .localCache
    if last.resourceFetchType == .networkLoad, last.requestStartDate != nil {
      isConnectionReused = last.isReusedConnection
      openedConnections = metrics.transactionMetrics.filter { !$0.isReusedConnection }.count
    }
  }
}

extension NetworkProtocolVersion {
  /// By the name that TLS negotiates (RFC 7301, section 6, and IANA's registry of these names).
  init?(alpn name: String) {
    switch name {
    case "http/1.0": self = .http10
    case "http/1.1": self = .http11
    case "h2", "h2c": self = .http2
    case "h3": self = .http3
    default: return nil
    }
  }
}
