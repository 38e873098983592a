import TapCore

/// What is left of a transfer at its end, of which a report is made later.
enum TransferResult: Sendable {
  /// libcurl's account, and what else is known at the end.
  case account(TransferAccount, End)
  /// What was measured by others.
  case report(TransferReport)
  /// Without an account: the sizes by headers, and the headers where they are shown.
  case headers(requestBodySize: Int64?, responseBodySize: Int64?, [String: String])

  /// What an account does not say.
  struct End: Sendable {
    /// All but the head, which is noted apart.
    let facts: TransferFacts
    let requestBodySize: Int64?
    let headers: [String: String]
  }
}

/// What is known of a transfer when it ends.
struct TransferReport: Sendable {
  var statusCode: Int?
  var requestBodySize: Int64?
  var responseBodySize: Int64?
  /// When the first byte of the response arrived, in nanoseconds from the start.
  var firstByte: Int64?
  var timings = RequestTimings()
  var protocolVersion: NetworkProtocolVersion?
  var peerAddress: String?
  var openedConnections: Int?
  var isConnectionReused: Bool?
  /// The connection's least round trip, in microseconds.
  var roundTrip: Int64?
  var retransmittedSegments: Int?
  var resendCount: Int?
  var isFromCache = false
  var responseHeaders: [String: String] = [:]

  /// Nothing is known.
  init() {}

  /// The report of a transfer that libcurl has an account of.
  ///
  /// - Parameter head: When a delegate received the head of the last response, in nanoseconds from the start.
  init(_ account: TransferAccount, _ end: TransferResult.End, head: Int64?) {
    var facts = end.facts
    facts.head = head
    // An interim response (RFC 9110, section 15.2) is not the answer.
    let hasHead = facts.end == .complete || account.finalStatusCode != nil
    if account.preTransfer > 0 { requestBodySize = end.requestBodySize }
    if hasHead { responseBodySize = account.receivedBytes }
    responseHeaders = end.headers
    protocolVersion = account.protocolVersion
    peerAddress = account.peerAddress
    openedConnections = account.connectionCount
    isConnectionReused = account.isConnectionReused
    resendCount = account.redirectCount
    roundTrip = facts.connection?.info.roundTrip
    retransmittedSegments = facts.connection?.retransmittedSegments
    let phases = TransferPhases(account, facts)
    timings = phases.timings
    firstByte = phases.firstByte
  }
}
