import TapCore
import TapFoundation

/// What libcurl (its *info*, `curl_easy_getinfo(3)`), the tap and the kernel know of a transfer, at its end,
/// or when it is cut short or looked at. In nanoseconds. What is unknown is `nil`; of libcurl's times, 0 is
/// one that the transfer has not come to, as in libcurl itself.
///
/// libcurl's times are cumulative, and from two starts: ``nameLookup`` to ``startTransfer`` count from when
/// the transfer got its turn, ``total`` from when it was added. Between the two it waits for a connection.
/// After a redirect they are those of the last leg.
package struct TransferInfo: Sendable, Hashable {
  /// What passed the tap's relay.
  struct Relay: Sendable, Hashable {
    /// The scheme is https.
    var isSecure = false
    /// The loader answers from the session's cache.
    var isFromCache = false
    /// From the start to when the loader was started again after a suspension, or 0 if it was not: libcurl's
    /// total counts from then.
    var restart: Int64 = 0
    /// The status code of the last response that a delegate received.
    var statusCode: Int?
    /// From the start to when a delegate received its head: an upper bound of the first byte.
    var head: Int64?
    /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes
    /// directly.
    var loadedBytes: Int64?
  }

  enum End: Sendable, Hashable {
    /// The whole response has arrived.
    case complete
    case failed
    /// The app cancelled the task: libcurl has not brought its total up to date.
    case cancelled
  }

  /// The server's side of a connection, or a proxy's.
  struct Peer: Sendable, Hashable {
    /// CURLINFO_PRIMARY_IP
    let address: String
    /// CURLINFO_PRIMARY_PORT
    let port: Int
  }

  /// Whether libcurl knows the transfer. Otherwise only the tap's own observations are known, and no phases.
  package internal(set) var isNative = false
  /// libcurl knows it, but its info is not used.
  private(set) var isDiscarded = false
  /// CURLINFO_RESPONSE_CODE: 0 before a head has arrived.
  var statusCode: Int?
  /// CURLINFO_NUM_CONNECTS: how many connections the transfer has opened.
  var connectionCount: Int?
  /// CURLINFO_HTTP_VERSION
  var protocolVersion: NetworkProtocolVersion?
  var peer: Peer?
  /// CURLINFO_LOCAL_PORT: of our side, which tells the open connections to a server apart.
  var localPort: Int?
  /// CURLINFO_SIZE_UPLOAD_T: of a chunked body with its framing.
  var sentBytes: Int64?
  /// CURLINFO_SIZE_DOWNLOAD_T: the body after chunk decoding and before content decoding.
  var receivedBytes: Int64?
  /// How often the loader followed a redirect.
  var redirectCount = 0
  /// CURLINFO_REDIRECT_TIME_T: when libcurl began to send the request again, counted like ``total``, since
  /// the server had closed the connection under it; 0 otherwise, since Foundation follows redirects itself.
  /// ``preTransfer`` is a sum of both attempts then.
  var resend: Int64 = 0
  /// CURLINFO_NAMELOOKUP_TIME_T
  var nameLookup: Int64 = 0
  /// CURLINFO_CONNECT_TIME_T: 0 on a connection that was open.
  var connect: Int64 = 0
  /// CURLINFO_APPCONNECT_TIME_T: 0 without TLS, and on a connection that was open.
  var appConnect: Int64 = 0
  /// CURLINFO_PRETRANSFER_TIME_T
  var preTransfer: Int64 = 0
  /// CURLINFO_POSTTRANSFER_TIME_T of a request with a body: its last byte was handed to the kernel. libcurl
  /// has it from 8.10 on.
  var postTransfer: Int64?
  /// CURLINFO_STARTTRANSFER_TIME_T: 0 before a byte has arrived. Before 8.10 that of an upload is its
  /// beginning.
  var startTransfer: Int64 = 0
  /// The way through a proxy to a server that is spoken to by TLS.
  enum Tunnel: Sendable, Hashable {
    /// The proxy has not answered, or refused (CURLINFO_HTTP_CONNECTCODE).
    case requested
    case open
  }

  /// That of a connection that the transfer opened. `nil` if there was none, or libcurl tells nothing.
  var tunnel: Tunnel?
  /// CURLINFO_TOTAL_TIME_T
  var total: Int64 = 0
  /// CURLINFO_QUEUE_TIME_T, which libcurl has from 8.6 on.
  var queue: Int64?

  var relay = Relay()
  var end = End.complete
  /// From the start of the request to its end.
  package var elapsed: Int64 = 0
  /// The app refused to follow a redirect: the end came with its answer.
  var isRedirectRefused = false
  /// The end is that of the response that asked for credentials, which nobody gave: the time since then is in
  /// no phase.
  var isBeforeChallenge = false
  /// libcurl closed the connection after the response, because one side asked for it. Over TLS it then sends
  /// an alert.
  var isClosing = false
  /// No other transfers could make this one wait: see ``TransferCount``.
  var hadFreeConnection = false
  /// The length of the request's body, where it is known in advance.
  var bodySize: Int64?

  /// What the kernel knows of the connection.
  var connection: TCPInfo.Reading?
  /// What the kernel's clock cannot tell from 0.
  var resolution = TCPInfo.resolution

  @inline(__always)
  package init() {}

  /// The status code, unless it is that of an interim response (RFC 9110, section 15.2).
  var finalStatusCode: Int? { statusCode.flatMap { $0 >= 200 ? $0 : nil } }

  /// Whether the response need not be read: it asks for no credentials (RFC 9110, section 15.5.2), and the
  /// last redirect was followed.
  var isSufficient: Bool {
    guard let statusCode, statusCode >= 200, statusCode != 401 else { return false }
    return redirectCount == 0 || !(300..<400).contains(statusCode)
  }

  /// Keeps only what the tap itself has seen.
  mutating func discardInfo() {
    var other = TransferInfo()
    (other.relay, other.elapsed, other.end, other.isDiscarded) = (relay, elapsed, end, true)
    self = other
  }

  /// Foundation counts a redirect before it asks whether to follow it. If the last response names a location,
  /// it was not followed.
  mutating func discountRefusedRedirect() {
    guard redirectCount > 0, let statusCode, (300..<400).contains(statusCode) else { return }
    redirectCount -= 1
    isRedirectRefused = true
  }

  /// From 8.7 on libcurl counts all times from when the transfer was added (`MSTATE_SETUP` in its `multi.c`),
  /// and adds to ``queue`` at each attempt to get a connection. The last attempt came just before the first
  /// of the other times: a host that others wait for was looked up before.
  ///
  /// Of a request that was sent again, these are the second attempt's, which waited for nothing: the dead
  /// connection left its place. The first had an open connection, so what ``preTransfer`` sums up beside the
  /// second one's is its wait. Before 8.12 ``queue`` counts the whole first attempt.
  mutating func countFromTurn() {
    guard let queue else { return }
    guard resend == 0 else {
      self.queue = max(0, min(queue, preTransfer - max(connect, appConnect)))
      return
    }
    let first = nameLookup > 0 ? nameLookup : preTransfer
    guard first > 0 else { return }
    let wait = min(queue, first - 1)
    self.queue = wait
    (nameLookup, connect, appConnect) = (
      max(0, nameLookup - wait), max(0, connect - wait), max(0, appConnect - wait)
    )
    (preTransfer, startTransfer) = (max(0, preTransfer - wait), max(0, startTransfer - wait))
    postTransfer = postTransfer.map { $0 - wait }
  }

  /// The transfer has opened a connection, and not come to the end of its handshake.
  var wantsHandshake: Bool { relay.isSecure && connectionCount ?? 0 > 0 && appConnect == 0 }

  /// Whether the transfer went over a connection that was open before. `nil` if it got none.
  var isConnectionReused: Bool? {
    guard preTransfer > 0, let connectionCount else { return nil }
    return connectionCount == 0
  }
}

/// The sizes of bodies on the wire, as far as they are known.
extension TransferInfo {
  /// `countOfBytesExpectedToSend` is the length of a body in memory or in a file, and 0 for a stream.
  /// Foundation counts the bytes of a stream for tasks with a delegate; libcurl counts the framing of the
  /// chunks too.
  @inline(__always)
  func requestBodySize(of task: URLSessionTask?, method: String) -> Int64? {
    if isNative, preTransfer == 0 { return nil }
    // A HEAD goes without its body, whatever the task carries, and a GET with a body is refused.
    if method == "HEAD" || method == "GET" { return 0 }
    guard let task else { return sentBytes == 0 ? 0 : nil }
    let isLastLegOnly = redirectCount > 0
    let expected = task.countOfBytesExpectedToSend
    if expected > 0 { return isLastLegOnly ? expected : sentBytes ?? expected }
    if sentBytes == 0, !isLastLegOnly { return 0 }
    let sent = task.countOfBytesSent
    // A further leg counts on from the first.
    if sent > 0 { return isNative && !isLastLegOnly ? sent : nil }
    return task.originalRequest?.httpBodyStream == nil ? 0 : nil
  }

  /// Without libcurl by its headers and by what came by (RFC 9110, section 8.6).
  @inline(__always)
  func responseBodySize(method: String, _ response: HTTPURLResponse?) -> Int64? {
    if isNative { return end == .complete || finalStatusCode != nil ? receivedBytes : nil }
    guard let response else { return relay.loadedBytes }
    // No content by definition (RFC 9110, sections 9.3.2, 15.3.5 and 15.4.5).
    if method == "HEAD" || response.statusCode == 204 || response.statusCode == 304 { return 0 }
    // A Transfer-Encoding overrides the Content-Length (RFC 9112, section 6.3).
    let isTransferCoded = response.value(forHTTPHeaderField: "Transfer-Encoding") != nil
    // On Linux this is the Content-Length, whatever the coding.
    if !isTransferCoded, response.expectedContentLength >= 0 { return response.expectedContentLength }
    // A coded body arrives decoded here, so its size on the wire is unknown.
    return Self.isDecoded(response) ? nil : relay.loadedBytes
  }

  /// Whether libcurl has decoded the response's body. It decodes transfer codings that it has not asked for
  /// as well (RFC 9112, section 7).
  static func isDecoded(_ response: HTTPURLResponse) -> Bool {
    let content = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
    let transfer = response.value(forHTTPHeaderField: "Transfer-Encoding")?.lowercased() ?? "chunked"
    return !["", "identity"].contains(content) || transfer != "chunked"
  }
}
