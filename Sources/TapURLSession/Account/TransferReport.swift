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
    let instant: Instant
    /// Whether the whole response has arrived.
    let isComplete: Bool
    /// What is known of the wait for a connection.
    let wait: ConnectionQueue.Wait
    let requestBodySize: Int64?
    let headers: [String: String]
  }
}

/// What is known of a transfer when it ends.
struct TransferReport: Sendable {
  var statusCode: Int?
  var requestBodySize: Int64?
  var responseBodySize: Int64?
  /// When the first byte of the response arrived.
  var firstByte: Instant?
  var timings = RequestTimings()
  var protocolVersion: NetworkProtocolVersion?
  var peerAddress: String?
  var openedConnections: Int?
  var isConnectionReused: Bool?
  var resendCount: Int?
  var isFromCache = false
  var responseHeaders: [String: String] = [:]

  /// Nothing is known.
  init() {}

  /// The report of a transfer that libcurl has an account of.
  ///
  /// - Parameter head: When the head of the last response arrived, where a delegate was told.
  init(_ account: TransferAccount, _ end: TransferResult.End, head: Instant?, isSecure: Bool) {
    // An interim response (RFC 9110, section 15.2) is not the answer.
    let hasHead = end.isComplete || account.finalStatusCode != nil
    if account.preTransfer > 0 { requestBodySize = end.requestBodySize }
    if hasHead { responseBodySize = account.receivedBytes }
    responseHeaders = end.headers
    protocolVersion = account.protocolVersion
    peerAddress = account.peerAddress
    openedConnections = account.connectionCount
    isConnectionReused = account.isConnectionReused
    resendCount = account.redirectCount
    var account = account
    if case .lasted(_, let elapsed) = end.wait {
      // The wait is of the tap's clock. libcurl starts its own when the transfer is added, which may be later.
      account.total = elapsed / 1_000
    }
    let queue = account.queue ?? Self.queue(account, head: head, wait: end.wait, at: end.instant)
    if account.sentBytes ?? 0 > 0 {
      // libcurl takes the beginning of an upload for that of the transfer (`readwrite_upload` in its `transfer.c`).
      account.startTransfer =
        hasHead ? Self.startTransfer(account, head: head, queue: queue, at: end.instant) : 0
    }
    timings = account.timings(queue: queue, isSecure: isSecure)
    firstByte = head
    if firstByte == nil, let start = account.startTransfer, start > 0, let queue {
      let transfer = max(0, account.total - queue - start)
      firstByte = Instant(nanoseconds: end.instant.nanoseconds &- transfer &* 1_000)
    }
  }

  /// When the response began, in microseconds from when the transfer got its turn, where a delegate received its head.
  private static func startTransfer(
    _ account: TransferAccount, head: Instant?, queue: Int64?, at now: Instant
  ) -> Int64? {
    guard let head, let queue else { return nil }
    let added = now.nanoseconds &- account.total &* 1_000
    return min(max(account.preTransfer, (head.nanoseconds &- added) / 1_000 - queue), account.total - queue)
  }

  /// How long the transfer waited, in microseconds, where libcurl does not say it.
  private static func queue(
    _ account: TransferAccount, head: Instant?, wait: ConnectionQueue.Wait, at now: Instant
  ) -> Int64? {
    let byTurn: Int64?
    switch wait {
    case .none: return 0
    case .whole: return account.total
    // By HTTP/2 a connection serves several transfers at once, and the end of one is no turn of another.
    case .lasted(let nanoseconds, _) where account.protocolVersion != .http2:
      byTurn = queue(account, byTurn: nanoseconds / 1_000)
    case .lasted, .unknown: byTurn = nil
    }
    // Either may be late by what happened in between, such as slow lines of the head: the earlier one is nearer.
    return [byTurn, queue(account, byHead: head, at: now)].compactMap(\.self).min()
  }

  /// By the end of the previous transfer on the connection, which the tap may notice after libcurl has gone on with this one.
  private static func queue(_ account: TransferAccount, byTurn wait: Int64) -> Int64 {
    let isDownload = account.sentBytes == 0
    return min(wait, max(0, account.total - (isDownload ? account.startTransfer ?? 0 : 0)))
  }

  /// By the head that a delegate received: it came after libcurl had its first byte, unless that was of an interim response to
  /// a body that waited for it (RFC 9110, section 10.1.1).
  private static func queue(_ account: TransferAccount, byHead head: Instant?, at now: Instant) -> Int64? {
    guard let head, let start = account.startTransfer, start > 0, account.sentBytes == 0 else { return nil }
    let added = now.nanoseconds &- account.total &* 1_000
    return min(max(0, (head.nanoseconds &- added) / 1_000 - start), account.total)
  }
}
