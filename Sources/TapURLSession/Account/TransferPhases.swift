import TapCore

/// Where the time of a transfer went, by libcurl's account, the kernel's and the tap's clock. Times are in microseconds.
///
/// libcurl before 8.6 does not say how long a transfer waited for a connection, but its times of a leg count from when the
/// transfer got its turn, and its total from when it was added. The kernel says for how long nothing has been sent on the
/// socket: for a request without a body that is since the request's head. So all is in one clock:
/// `queue = total - sinceDataSent - preTransfer`.
///
/// What cannot be known is absent.
struct TransferPhases: Sendable, Hashable {
  private(set) var timings = RequestTimings()
  /// From the start of the request to libcurl's first byte of the last leg, in nanoseconds.
  private(set) var firstByte: Int64?

  private let account: TransferAccount
  /// From when libcurl added the transfer to its end.
  private let total: Int64?
  /// From then until it got its turn.
  private let queue: Int64?
  /// Time of the leg in this process, beside phases: between a connection's phases and the request, and of a response that
  /// lay unread.
  private var idle: Int64 = 0

  init(_ account: TransferAccount) {
    self.account = account
    total = Self.total(account)
    queue = Self.queue(account, total: total)
    guard total != 0 else { return }
    if let queue, queue > 0 { timings[microseconds: .queue] = queue }
    if noteConnection() {
      if account.hasSentBody { noteUpload() } else { noteResponse() }
    }
    noteLocal()
  }

  /// A cancel leaves libcurl's total where it was when something last happened. The tap's clock serves where it has measured the
  /// same leg.
  private static func total(_ account: TransferAccount) -> Int64? {
    guard account.end == .cancelled, !account.isHeldByApp else { return account.total }
    guard !account.isRestarted, account.redirectCount == 0 else { return nil }
    return max(account.total, account.elapsed / 1_000)
  }

  // MARK: The wait for a connection

  /// The first rule that holds decides.
  private static func queue(_ account: TransferAccount, total: Int64?) -> Int64? {
    // libcurl says it, from 8.6 on.
    if let queue = account.queue { return queue }
    guard let total else { return nil }
    // Whatever has happened after the turn leaves no more for the wait than this.
    var most = total - account.reached
    if let start = account.startTransfer, start > 0, let head = account.head, !account.isHeldByApp {
      most = min(most, total - (account.elapsed - head) / 1_000 - start)
    }
    var sinceSent: Int64?
    if let info = account.connection?.info, account.preTransfer > 0, !account.isHeldByApp {
      sinceSent = info.sinceDataSent
      most = min(most, total - info.sinceDataSent - account.preTransfer)
    }
    if most < account.resolution { return 0 }
    // The kernel says it, where the last data on the socket was the request.
    if let sinceSent, account.connection?.hasNoRetransmission == true, !account.hasSentBody,
      account.isHTTP1, account.sendsNothingAtEnd,
      sinceSent + account.resolution >= (account.startTransfer ?? 0) - account.preTransfer
    {
      return most
    }
    return account.hasHadRoom ? 0 : nil
  }

  /// From when the transfer got its turn to its end.
  private var leg: Int64? {
    guard let total, let queue else { return nil }
    return max(0, total - queue)
  }

  // MARK: The phases of a leg

  /// Notes the phases up to when the request could be sent. `false` if the transfer ended in one of them.
  private mutating func noteConnection() -> Bool {
    var reached: Int64 = 0
    // On a connection that was open, libcurl tells some microseconds for a look-up in its cache.
    if account.isConnectionReused != true {
      var phases: [(RequestTimings.Phase, Int64)] = [
        (.resolve, account.nameLookup), (.connect, account.connect),
      ]
      if account.isSecure { phases.append((.tls, account.appConnect)) }
      for (phase, end) in phases {
        guard end > 0 else {
          timings[microseconds: phase] = leg.map { max(0, $0 - reached) }
          return false
        }
        timings[microseconds: phase] = max(0, end - reached)
        reached = max(reached, end)
      }
    }
    idle = max(0, account.preTransfer - reached)
    return true
  }

  /// When the request could be sent, from the turn.
  private var sent: Int64 { max(account.preTransfer, account.connect, account.appConnect) }

  private mutating func noteResponse() {
    guard let start = account.startTransfer, start > 0 else {
      timings[microseconds: .processing] = leg.map { max(0, $0 - sent) }
      return
    }
    var processing = max(0, start - sent)
    var transfer = leg.map { max(0, $0 - start) }
    let isOneSegment = account.connection?.isOneSegment == true
    if transfer != nil || isOneSegment {
      // The last byte arrived so long before the end: what is longer than the transfer was before libcurl's first byte.
      let unread = min(sinceReceived ?? 0, processing + (transfer ?? 0))
      processing -= max(0, unread - (transfer ?? 0))
      transfer = transfer.map { max(0, $0 - unread) }
      idle += unread
    }
    timings[microseconds: .processing] = processing
    timings[microseconds: .transfer] = transfer
    if let leg { noteFirstByte(leg - sent - processing) }
  }

  /// libcurl takes the beginning of an upload for the first byte of the response (`readwrite_upload` in its `transfer.c`). The
  /// kernel knows when the last of the body went out; where the response came in one segment, all after that is the server's.
  private mutating func noteUpload() {
    let isHTTP1 = account.isHTTP1 && !account.isHeldByApp
    guard isHTTP1, let connection = account.connection, account.sendsNothingAtEnd else {
      return noteUnfinishedUpload()
    }
    if account.end != .complete, isBodySent == false { return noteUnfinishedUpload() }
    var after = connection.info.sinceDataSent
    let rest = leg.map { max(0, $0 - sent) }
    if let rest, rest - after < account.resolution {
      // A short upload is none that the kernel's clock could tell.
      after = rest
    } else if !connection.hasNoRetransmission, account.sentBytes ?? 0 <= Self.bodyInFlight {
      // All of the body may have been sent before, and a part have gone out again while the server worked. Of a larger one some is
      // sent again wherever the server takes it slowly, and its end came later.
      return
    } else if let rest {
      timings[microseconds: .upload] = rest - after
    }
    if account.end == .complete {
      // In ticks, so it may seem to be longer than what libcurl's clock leaves for it.
      let unread = min(sinceReceived ?? 0, after)
      guard connection.isOneSegment, (sinceReceived ?? 0) - after < account.resolution else { return }
      timings[microseconds: .processing] = after - unread
      timings[microseconds: .transfer] = 0
      idle += unread
      noteFirstByte(unread)
    } else if isBodySent == true, account.finalStatusCode == nil {
      timings[microseconds: .processing] = after
    }
  }

  /// So many bytes can be under way at once, without an answer of the server's kernel.
  private static let bodyInFlight: Int64 = 65_536

  /// What ended while the body went out has spent the rest of its time in that.
  private mutating func noteUnfinishedUpload() {
    guard account.end != .complete, account.finalStatusCode == nil, isBodySent == false else { return }
    timings[microseconds: .upload] = leg.map { max(0, $0 - sent) }
  }

  private var isBodySent: Bool? {
    guard let size = account.bodySize, let sent = account.sentBytes else { return nil }
    return sent >= size
  }

  /// For how long the whole response has lain in the socket before it was read, where the kernel's clock can tell. Not where the
  /// server has closed the connection: the last data need not have been the end then.
  private var sinceReceived: Int64? {
    guard account.end == .complete, account.isHTTP1, !account.isHeldByApp,
      let info = account.connection?.info, info.isEstablished, info.sinceDataReceived >= account.resolution
    else { return nil }
    return info.sinceDataReceived
  }

  /// - Parameter rest: From the first byte to the end of the transfer.
  private mutating func noteFirstByte(_ rest: Int64) {
    if account.isHeldByApp {
      firstByte = total.map { max(0, $0 - rest) * 1_000 }
    } else {
      firstByte = max(0, account.elapsed - max(0, rest) * 1_000)
    }
  }

  /// The rest of the duration: before libcurl, between its phases, and after it. Known where libcurl's total is that of the whole
  /// request.
  private mutating func noteLocal() {
    guard let total, !account.isRestarted, account.redirectCount == 0,
      account.end != .cancelled || account.isHeldByApp
    else { return }
    timings[nanoseconds: .local] = max(0, account.elapsed - total * 1_000) + idle * 1_000
  }
}

extension TransferAccount {
  /// A body, or a part of one, was sent.
  fileprivate var hasSentBody: Bool { sentBytes ?? 0 > 0 }

  /// The last data on the connection was the request's. TLS ends a connection with an alert: after a failure, and where one of the
  /// sides closes it.
  fileprivate var sendsNothingAtEnd: Bool {
    guard isSecure else { return true }
    return end == .complete && !isClosing && connection?.info.isEstablished != false
  }

  /// The last that has surely happened since the turn.
  fileprivate var reached: Int64 {
    max(nameLookup, connect, appConnect, preTransfer, startTransfer ?? 0)
  }

  /// The connection serves one transfer at a time. Without TLS nothing else is spoken, so it holds before a head has come.
  fileprivate var isHTTP1: Bool {
    switch protocolVersion {
    case .http10, .http11: true
    case .http2, .http3: false
    case nil: !isSecure
    }
  }
}

extension RequestTimings {
  fileprivate subscript(microseconds phase: Phase) -> Int64? {
    get { self[nanoseconds: phase].map { $0 / 1_000 } }
    set { self[nanoseconds: phase] = newValue.map { $0.multipliedReportingOverflow(by: 1_000).partialValue } }
  }
}
