import TapCore

/// What libcurl (`curl_easy_getinfo(3)`), the tap and the kernel know of a transfer, at its end or when it is cut short.
///
/// libcurl's times are cumulative, in microseconds, and from two starts: ``nameLookup`` to ``startTransfer`` count from when the
/// transfer got its turn, ``total`` from when it was added. Between the two it waits for a connection of the session's.
/// After a redirect all of them are those of the last leg.
package struct TransferAccount: Sendable, Hashable {
  enum End: Sendable, Hashable {
    /// The whole response has arrived.
    case complete
    case failed
    /// The app cancelled the task: libcurl has not brought its total up to date.
    case cancelled
  }

  // MARK: libcurl

  /// CURLINFO_RESPONSE_CODE: 0 before a head has arrived.
  var statusCode: Int?
  /// CURLINFO_NUM_CONNECTS: how many connections the transfer has opened.
  var connectionCount: Int?
  /// CURLINFO_HTTP_VERSION
  var protocolVersion: NetworkProtocolVersion?
  /// CURLINFO_PRIMARY_IP: the address of the server's side of the connection.
  var peerAddress: String?
  /// CURLINFO_PRIMARY_PORT: of the same side.
  var peerPort: Int?
  /// CURLINFO_LOCAL_PORT: of our side, which tells the open connections to a server apart.
  var localPort: Int?
  /// CURLINFO_SIZE_UPLOAD_T: of a chunked body with its framing.
  var sentBytes: Int64?
  /// CURLINFO_SIZE_DOWNLOAD_T: the body after chunk decoding and before content decoding.
  var receivedBytes: Int64?
  /// How often the loader followed a redirect.
  var redirectCount = 0
  /// CURLINFO_NAMELOOKUP_TIME_T
  var nameLookup: Int64 = 0
  /// CURLINFO_CONNECT_TIME_T: 0 on a connection that was open.
  var connect: Int64 = 0
  /// CURLINFO_APPCONNECT_TIME_T: 0 without TLS, and on a connection that was open.
  var appConnect: Int64 = 0
  /// CURLINFO_PRETRANSFER_TIME_T
  var preTransfer: Int64 = 0
  /// CURLINFO_STARTTRANSFER_TIME_T: 0 before a byte has arrived, `nil` if that is unknown.
  var startTransfer: Int64? = 0
  /// CURLINFO_TOTAL_TIME_T
  var total: Int64 = 0
  /// CURLINFO_QUEUE_TIME_T, which libcurl has from 8.6 on.
  var queue: Int64?

  // MARK: The tap

  var end = End.complete
  /// From the start of the request to its end, in nanoseconds.
  package var elapsed: Int64 = 0
  /// The scheme is https.
  var isSecure = false
  /// The loader was started again after a suspension: libcurl's total is not that of the whole request.
  var isRestarted = false
  /// The app was asked whether to follow a redirect and refused: the end came when it had answered.
  var isHeldByApp = false
  /// libcurl has closed the connection after the response, as one of the two sides asked. Over TLS it sends an alert then.
  var isClosing = false
  /// No other transfers could make this one wait: see ``TransferCount``.
  var hasHadRoom = false
  /// From the start to when a delegate received the head, in nanoseconds. An upper bound of the first byte: the head may have come
  /// in pieces.
  var head: Int64?
  /// The length of the request's body, where it is known in advance.
  var bodySize: Int64?

  // MARK: The kernel

  /// What the kernel knows of the connection.
  var connection: TCPInfo.Reading?
  /// What the kernel's clock cannot tell from 0, in microseconds.
  var resolution = TCPInfo.resolution

  /// The status code, unless it is that of an interim response (RFC 9110, section 15.2).
  var finalStatusCode: Int? { statusCode.flatMap { $0 >= 200 ? $0 : nil } }

  /// Whether the response need not be looked at: it asks for no credentials (RFC 9110, section 15.5.2), and the last
  /// redirect was followed.
  var isSufficient: Bool {
    guard let statusCode, statusCode >= 200, statusCode != 401 else { return false }
    return redirectCount == 0 || !(300..<400).contains(statusCode)
  }

  /// Foundation counts a redirect before it asks whether to follow it. The response that is the last is one that was not
  /// followed, if it names a place.
  mutating func discountRefusedRedirect() {
    guard redirectCount > 0, let statusCode, (300..<400).contains(statusCode) else { return }
    redirectCount -= 1
    isHeldByApp = true
  }

  /// Whether the transfer went over a connection that was open before. `nil` if it got none.
  var isConnectionReused: Bool? {
    guard preTransfer > 0, let connectionCount else { return nil }
    return connectionCount == 0
  }
}

extension RequestObservation {
  /// Adds what is known of a transfer that libcurl has an account of.
  mutating func add(_ account: TransferAccount) {
    // An interim response (RFC 9110, section 15.2) is not the answer.
    if account.end == .complete || account.finalStatusCode != nil { responseBodySize = account.receivedBytes }
    protocolVersion = account.protocolVersion
    peerAddress = account.peerAddress
    openedConnections = account.connectionCount
    isConnectionReused = account.isConnectionReused
    resendCount = account.redirectCount
    roundTrip = account.connection?.info.roundTrip.map { $0 * 1_000 }
    retransmittedSegments = account.connection?.retransmittedSegments
    let phases = TransferPhases(account)
    timings = phases.timings
    elapsedToFirstByte = phases.firstByte
  }
}
