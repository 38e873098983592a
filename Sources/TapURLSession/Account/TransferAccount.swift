import TapCore

/// What libcurl knows of a transfer, at its end or when it is cut short (`curl_easy_getinfo(3)`).
///
/// Times are cumulative, in microseconds, and from two starts: ``nameLookup`` to ``startTransfer`` count from when the
/// transfer got its turn, ``total`` from when it was added. Between the two it waits for a connection of the session's.
/// After a redirect all of them are those of the last leg.
package struct TransferAccount: Sendable, Hashable {
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

  /// The status code, unless it is that of an interim response (RFC 9110, section 15.2).
  var finalStatusCode: Int? { statusCode.flatMap { $0 >= 200 ? $0 : nil } }

  /// Whether the response need not be looked at: it asks for no credentials (RFC 9110, section 15.5.2), and the last
  /// redirect was followed.
  var isSufficient: Bool {
    guard let statusCode, statusCode >= 200, statusCode != 401 else { return false }
    return redirectCount == 0 || !(300..<400).contains(statusCode)
  }

  /// Foundation counts a redirect before it asks whether to follow it. The response that is the last is one that was not
  /// followed, if it names a place. Whether there was such a redirect.
  mutating func discountRefusedRedirect() -> Bool {
    guard redirectCount > 0, let statusCode, (300..<400).contains(statusCode) else { return false }
    redirectCount -= 1
    return true
  }

  /// Whether the transfer went over a connection that was open before. `nil` if it got none.
  var isConnectionReused: Bool? {
    guard preTransfer > 0, let connectionCount else { return nil }
    return connectionCount == 0
  }
}
