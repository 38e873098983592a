import Foundation
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is learned of a transfer while it passes the relay, for what libcurl's account does not say: the instant of the
/// head, and everything where there is no account.
struct TransferFacts {
  /// When the loader was started first.
  var start: Instant?
  /// When the head of the last response arrived, where a delegate is told.
  private(set) var head: Instant?
  private(set) var statusCode: Int?
  /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes directly.
  private(set) var loadedBytes: Int64?
  /// The loader answers from the session's cache.
  var isFromCache = false

  /// Takes a response. An interim one (RFC 9110, section 15.2) is not the answer.
  mutating func take(_ response: URLResponse, at instant: Instant) {
    let status = (response as? HTTPURLResponse)?.statusCode
    if let status, (100..<200).contains(status) { return }
    statusCode = status
    head = instant
  }

  /// Adds a piece of the body.
  mutating func load(_ count: Int) {
    loadedBytes = (loadedBytes ?? 0) + Int64(count)
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
  /// - Parameters:
  ///   - isComplete: Whether the whole response has arrived.
  ///   - wait: What is known of its wait for a connection.
  ///   - now: The instant of the end.
  init(
    _ account: TransferAccount, isComplete: Bool, facts: TransferFacts, wait: ConnectionQueue.Wait,
    isSecure: Bool,
    task: URLSessionTask?, method: String, at now: Instant
  ) {
    // An interim response (RFC 9110, section 15.2) is not the answer.
    let isFinal = account.statusCode ?? 0 >= 200
    if isFinal { statusCode = account.statusCode }
    let hasHead = isComplete || isFinal
    if account.preTransfer > 0 {
      requestBodySize = BodySizes.sent(by: task, method: method, account: account)
    }
    if hasHead { responseBodySize = account.receivedBytes }
    protocolVersion = account.protocolVersion
    peerAddress = account.peerAddress
    openedConnections = account.connectionCount
    isConnectionReused = account.isConnectionReused
    resendCount = account.redirectCount
    let queue = account.queue ?? Self.queue(account, facts: facts, wait: wait, at: now)
    var account = account
    if account.sentBytes ?? 0 > 0 {
      // libcurl takes the beginning of an upload for that of the transfer (`readwrite_upload` in its `transfer.c`).
      account.startTransfer = hasHead ? Self.startTransfer(account, facts: facts, queue: queue, at: now) : 0
    }
    timings = account.timings(queue: queue, isSecure: isSecure)
    firstByte = facts.head
    if firstByte == nil, let start = account.startTransfer, start > 0, let queue {
      let transfer = max(0, account.total - queue - start)
      firstByte = Instant(nanoseconds: now.nanoseconds &- transfer &* 1_000)
    }
  }

  /// When the response began, in microseconds from when the transfer got its turn, where a delegate received its head.
  private static func startTransfer(
    _ account: TransferAccount, facts: TransferFacts, queue: Int64?, at now: Instant
  ) -> Int64? {
    guard let head = facts.head, let queue else { return nil }
    let added = now.nanoseconds &- account.total &* 1_000
    return min(max(account.preTransfer, (head.nanoseconds &- added) / 1_000 - queue), account.total - queue)
  }

  /// How long the transfer waited, in microseconds, where libcurl does not say it.
  private static func queue(
    _ account: TransferAccount, facts: TransferFacts, wait: ConnectionQueue.Wait, at now: Instant
  ) -> Int64? {
    let added = now.nanoseconds &- account.total &* 1_000
    func sinceAdded(_ turn: Int64) -> Int64 { min(max(0, (turn &- added) / 1_000), account.total) }
    switch wait {
    case .none: return 0
    case .whole: return account.total
    case .until(let turn) where account.protocolVersion != .http2:
      // The tap may notice the end of the transfer before somewhat later than libcurl did.
      let latest = account.sentBytes == 0 ? account.total - (account.startTransfer ?? 0) : account.total
      return min(sinceAdded(turn.nanoseconds), max(0, latest))
    case .until, .unknown:
      // A head that a delegate receives came when libcurl had its first byte, unless that was of an interim response
      // to a body that waited for it (RFC 9110, section 10.1.1).
      guard let head = facts.head, let start = account.startTransfer, start > 0, account.sentBytes == 0 else {
        return nil
      }
      return sinceAdded(head.nanoseconds &- start &* 1_000)
    }
  }
}
