import TapCore

/// What libcurl (`curl_easy_getinfo(3)`), the tap and the kernel know of a transfer, at its end or when it is cut short, and where
/// its time went by that. In microseconds, unless said otherwise.
///
/// libcurl's times are cumulative, and from two starts: ``nameLookup`` to ``startTransfer`` count from when the transfer got its
/// turn, ``total`` from when it was added. Between the two it waits for a connection of the session's. After a redirect all of
/// them are those of the last leg.
package struct TransferAccount: Sendable, Hashable {
  /// What passed the tap.
  struct Seen: Sendable, Hashable {
    /// The scheme is https.
    var isSecure = false
    /// The loader answers from the session's cache.
    var isFromCache = false
    /// The loader was started again after a suspension: libcurl's total is not that of the whole request.
    var isRestarted = false
    /// The status code of the last response that a delegate received.
    var statusCode: Int?
    /// From the start to when a delegate received the head of that response, in nanoseconds. An upper bound of the first byte: the
    /// head may have come in pieces.
    var head: Int64?
    /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes directly.
    var loadedBytes: Int64?
  }

  enum End: Sendable, Hashable {
    /// The whole response has arrived.
    case complete
    case failed
    /// The app cancelled the task: libcurl has not brought its total up to date.
    case cancelled
  }

  // MARK: libcurl

  /// Whether libcurl knows the transfer. Of another the tap knows what it has seen, and no phases.
  package internal(set) var isNative = false
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
  /// CURLINFO_STARTTRANSFER_TIME_T: 0 before a byte has arrived.
  var startTransfer: Int64 = 0
  /// CURLINFO_TOTAL_TIME_T
  var total: Int64 = 0
  /// CURLINFO_QUEUE_TIME_T, which libcurl has from 8.6 on.
  var queue: Int64?

  // MARK: The tap

  var seen = Seen()
  var end = End.complete
  /// From the start of the request to its end, in nanoseconds.
  package var elapsed: Int64 = 0
  /// The app was asked whether to follow a redirect and refused: the end came when it had answered.
  var isHeldByApp = false
  /// libcurl has closed the connection after the response, as one of the two sides asked. Over TLS it sends an alert then.
  var isClosing = false
  /// No other transfers could make this one wait: see ``TransferCount``.
  var hasHadRoom = false
  /// The length of the request's body, where it is known in advance.
  var bodySize: Int64?

  // MARK: The kernel

  /// What the kernel knows of the connection.
  var connection: TCPInfo.Reading?
  /// What the kernel's clock cannot tell from 0.
  var resolution = TCPInfo.resolution

  // MARK: What follows

  /// Where the time went.
  private(set) var timings = RequestTimings()
  /// From the start of the request to libcurl's first byte of the last leg, in nanoseconds.
  private(set) var firstByte: Int64?
  /// Time of the leg in this process, beside phases: between a connection's phases and the request, and of a response that
  /// lay unread.
  private var idle: Int64 = 0

  @inline(__always)
  package init() {}

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

/// libcurl before 8.6 does not say how long a transfer waited for a connection. The kernel says for how long nothing has been sent on
/// the socket: for a request without a body that is since the request's head. So all is in one clock:
/// `queue = total - sinceDataSent - preTransfer`.
extension TransferAccount {
  /// Finds the phases and the first byte. What cannot be known is absent.
  mutating func findPhases() {
    var total: Int64? = total
    if end == .cancelled, !isHeldByApp {
      // libcurl's total is where it was when something last happened. The tap's clock serves where it has measured the same leg.
      total = seen.isRestarted || redirectCount > 0 ? nil : max(self.total, elapsed / 1_000)
    }
    guard total != 0 else { return }
    let wait = wait(within: total)
    if let wait, wait > 0 { timings[microseconds: .queue] = wait }
    // From when the transfer got its turn to its end.
    let leg = total.flatMap { total in wait.map { max(0, total - $0) } }
    if noteConnection(within: leg) {
      // When the request could be sent, from the turn.
      let sent = max(preTransfer, connect, appConnect)
      if hasSentBody { noteUpload(leg, from: sent) } else { noteResponse(leg, from: sent) }
    }
    // The rest of the duration, before libcurl, between its phases, and after it, is known where libcurl's total is that of the
    // whole request.
    guard let total, !seen.isRestarted, redirectCount == 0, end != .cancelled || isHeldByApp else { return }
    timings[nanoseconds: .local] = max(0, elapsed - total * 1_000) + idle * 1_000
  }

  /// The wait for a connection. The first rule that holds decides.
  @inline(__always)
  private func wait(within total: Int64?) -> Int64? {
    // libcurl says it, from 8.6 on.
    if let queue { return queue }
    guard let total else { return nil }
    // Whatever has happened after the turn leaves no more for the wait than this.
    var most = total - max(nameLookup, connect, appConnect, preTransfer, startTransfer)
    if startTransfer > 0, let head = seen.head, !isHeldByApp {
      most = min(most, total - (elapsed - head) / 1_000 - startTransfer)
    }
    let sinceSent = preTransfer > 0 && !isHeldByApp ? connection?.info.sinceDataSent : nil
    if let sinceSent { most = min(most, total - sinceSent - preTransfer) }
    if most < resolution { return 0 }
    // The kernel says it, where the last data on the socket was the request.
    if let sinceSent, connection?.hasNoRetransmission == true, !hasSentBody, isHTTP1, sendsNothingAtEnd,
      sinceSent + resolution >= startTransfer - preTransfer
    {
      return most
    }
    return hasHadRoom ? 0 : nil
  }

  /// Notes the phases up to when the request could be sent. `false` if the transfer ended in one of them.
  private mutating func noteConnection(within leg: Int64?) -> Bool {
    var reached: Int64 = 0
    // On a connection that was open, libcurl tells some microseconds for a look-up in its cache.
    if isConnectionReused != true {
      for (phase, end) in [
        (RequestTimings.Phase.resolve, nameLookup), (.connect, connect), (.tls, appConnect),
      ]
      where phase != .tls || seen.isSecure {
        timings[microseconds: phase] = (end > 0 ? end : leg).map { max(0, $0 - reached) }
        if end == 0 { return false }
        reached = max(reached, end)
      }
    }
    idle = max(0, preTransfer - reached)
    return true
  }

  private mutating func noteResponse(_ leg: Int64?, from sent: Int64) {
    guard startTransfer > 0 else {
      timings[microseconds: .processing] = leg.map { max(0, $0 - sent) }
      return
    }
    var processing = max(0, startTransfer - sent)
    var transfer = leg.map { max(0, $0 - startTransfer) }
    if transfer != nil || connection?.isOneSegment == true {
      // The last byte arrived so long before the end: what is longer than the transfer was before libcurl's first byte.
      let unread = min(sinceReceived, processing + (transfer ?? 0))
      processing -= max(0, unread - (transfer ?? 0))
      transfer = transfer.map { max(0, $0 - unread) }
      idle += unread
    }
    timings[microseconds: .processing] = processing
    timings[microseconds: .transfer] = transfer
    guard let leg else { return }
    let rest = leg - sent - processing
    firstByte = isHeldByApp ? max(0, total - rest) * 1_000 : max(0, elapsed - max(0, rest) * 1_000)
  }

  /// libcurl takes the beginning of an upload for the first byte of the response (`readwrite_upload` in its `transfer.c`). The
  /// kernel knows when the last of the body went out; where the response came in one segment, all after that is the server's.
  private mutating func noteUpload(_ leg: Int64?, from sent: Int64) {
    let isBodySent = bodySize.flatMap { size in sentBytes.map { $0 >= size } }
    let rest = leg.map { max(0, $0 - sent) }
    guard isHTTP1, !isHeldByApp, let connection, sendsNothingAtEnd, end == .complete || isBodySent != false
    else {
      // What ended while the body went out has spent the rest of its time in that.
      if end != .complete, finalStatusCode == nil, isBodySent == false {
        timings[microseconds: .upload] = rest
      }
      return
    }
    var after = connection.info.sinceDataSent
    if let rest, rest - after < resolution {
      // A short upload is none that the kernel's clock could tell.
      after = rest
    } else if !connection.hasNoRetransmission, sentBytes ?? 0 <= Self.bodyInFlight {
      // All of the body may have been sent before, and a part have gone out again while the server worked. Of a larger one some is
      // sent again wherever the server takes it slowly, and its end came later.
      return
    } else if let rest {
      timings[microseconds: .upload] = rest - after
    }
    if end == .complete {
      guard connection.isOneSegment, sinceReceived - after < resolution else { return }
      // In ticks, so it may seem to be longer than what libcurl's clock leaves for it.
      let unread = min(sinceReceived, after)
      timings[microseconds: .processing] = after - unread
      timings[microseconds: .transfer] = 0
      idle += unread
      firstByte = max(0, elapsed - unread * 1_000)
    } else if isBodySent == true, finalStatusCode == nil {
      timings[microseconds: .processing] = after
    }
  }

  /// So many bytes can be under way at once, without an answer of the server's kernel.
  private static let bodyInFlight: Int64 = 65_536

  /// For how long the whole response has lain in the socket before it was read: 0 where the kernel's clock cannot tell, and where the
  /// server has closed the connection, since the last data need not have been the end then.
  private var sinceReceived: Int64 {
    guard end == .complete, isHTTP1, !isHeldByApp, let info = connection?.info, info.isEstablished,
      info.sinceDataReceived >= resolution
    else { return 0 }
    return info.sinceDataReceived
  }

  /// A body, or a part of one, was sent.
  private var hasSentBody: Bool { sentBytes ?? 0 > 0 }

  /// The last data on the connection was the request's. TLS ends a connection with an alert: after a failure, and where one of the
  /// sides closes it.
  private var sendsNothingAtEnd: Bool {
    !seen.isSecure || (end == .complete && !isClosing && connection?.info.isEstablished != false)
  }

  /// The connection serves one transfer at a time. Without TLS nothing else is spoken, so it holds before a head has come.
  private var isHTTP1: Bool {
    switch protocolVersion {
    case .http10, .http11: true
    case .http2, .http3: false
    case nil: !seen.isSecure
    }
  }
}

extension RequestTimings {
  fileprivate subscript(microseconds phase: Phase) -> Int64? {
    get { self[nanoseconds: phase].map { $0 / 1_000 } }
    set { self[nanoseconds: phase] = newValue.map { $0.multipliedReportingOverflow(by: 1_000).partialValue } }
  }
}
