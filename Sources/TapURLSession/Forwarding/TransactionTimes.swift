import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// When the parts of a transfer took place, as URLSession tells it on Apple's platforms. `nil` for a part that did not.
///
/// Foundation on Linux measures none of this (swift-corelibs-foundation #4988): there it is compiled and tested, and not used.
struct TransactionTimes: Sendable {
  var fetchStart: Date?
  var domainLookupStart: Date?
  var domainLookupEnd: Date?
  var connectStart: Date?
  var secureConnectionStart: Date?
  var secureConnectionEnd: Date?
  var connectEnd: Date?
  var requestStart: Date?
  var responseStart: Date?
  var responseEnd: Date?

  /// The phases, by the definitions of `URLSessionTaskTransactionMetrics`: the connection's time includes the handshake,
  /// and a transfer over a connection that was open has neither look-up nor connection.
  var timings: RequestTimings {
    var timings = RequestTimings()
    let turn = domainLookupStart ?? connectStart ?? requestStart
    if let queue = Self.span(fetchStart, turn), queue > .zero { timings[.queue] = queue }
    timings[.resolve] = Self.span(domainLookupStart, domainLookupEnd)
    timings[.connect] = Self.span(connectStart, secureConnectionStart ?? connectEnd)
    timings[.tls] = Self.span(secureConnectionStart, secureConnectionEnd)
    timings[.processing] = Self.span(requestStart, responseStart)
    timings[.transfer] = Self.span(responseStart, responseEnd)
    return timings
  }

  /// A clock that is set back meanwhile makes 0 of it.
  private static func span(_ start: Date?, _ end: Date?) -> Duration? {
    guard let start, let end else { return nil }
    return .seconds(max(0, min(end.timeIntervalSince(start), 1e9)))
  }
}

extension TransactionTimes {
  init(_ metrics: URLSessionTaskTransactionMetrics) {
    self.init(
      fetchStart: metrics.fetchStartDate, domainLookupStart: metrics.domainLookupStartDate,
      domainLookupEnd: metrics.domainLookupEndDate, connectStart: metrics.connectStartDate,
      secureConnectionStart: metrics.secureConnectionStartDate,
      secureConnectionEnd: metrics.secureConnectionEndDate, connectEnd: metrics.connectEndDate,
      requestStart: metrics.requestStartDate, responseStart: metrics.responseStartDate,
      responseEnd: metrics.responseEndDate)
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
    timings = TransactionTimes(last).timings
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
