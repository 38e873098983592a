import TapCore
import TapFoundation

/// Where the time of a transfer went, from border to border: the turn, the connection, the end of the body,
/// the first byte, the last. Each border is a table of witnesses, as in the article *What the tap sees*: the
/// first row that applies decides, and a border without a witness is absent.
///
/// libcurl counts from the *turn*, when the transfer gets a connection or may open one. The kernel and the
/// tap count back from the end. It is one clock where the wait for the turn is known.
struct TransferPhases {
  private(set) var timings = RequestTimings()
  /// The last phase that began, in which a request may have been cut off; `nil` if unknown.
  private(set) var last: RequestTimings.Phase?
  /// From the start of the request to the first byte of the last leg.
  private(set) var firstByte: Int64?
  /// Time of the leg in this process, beside phases: before its turn, between the connection and the request,
  /// while the response lay unread.
  private var idle: Int64 = 0
  /// The part of the duration that no phase has taken so far.
  private var unexplained: Int64

  /// Finds the phases and the first byte, of a transfer that libcurl knows.
  init(of transfer: borrowing TransferInfo) {
    unexplained = transfer.elapsed
    let total = transfer.wholeTotal
    guard transfer.isNative, total != 0 else { return }
    // Time on a connection that the server had closed is no phase.
    let resend = transfer.resend
    let attempt = total.map { $0 - resend }
    let wait = transfer.waitForTurn(within: attempt)
    if let queue = resend > 0 ? transfer.queue ?? wait : wait {
      // If a connection was free, the transfer waited for Foundation's queue, and not for a connection.
      if queue >= 1_000_000, !transfer.hadFreeConnection {
        note(.queue, queue)
      } else if resend == 0 {
        idle = queue
      }
    }
    // From the turn to the end.
    let leg = attempt.flatMap { attempt in wait.map { max(0, attempt - $0) } }
    if noteConnection(of: transfer, within: leg) { noteExchange(of: transfer, within: leg) }
    // What is left of the duration, before libcurl, between its phases, and after it.
    if transfer.isTotalOfAllLegs { note(.local, max(0, transfer.elapsed - transfer.total) + idle) }
  }

  /// Keeps a phase, unless it exceeds what the others leave of the duration: then its witness is wrong.
  @discardableResult
  private mutating func note(_ phase: RequestTimings.Phase, _ length: Int64) -> Bool {
    let length = max(0, length)
    guard length <= unexplained else { return false }
    unexplained -= length
    timings[nanoseconds: phase] = length
    return true
  }

  /// The phases up to when the request could be sent. `false` if the transfer ended in one of them.
  private mutating func noteConnection(of transfer: borrowing TransferInfo, within leg: Int64?) -> Bool {
    let (look, connect, isResent) = (transfer.nameLookup, transfer.connect, transfer.resend > 0)
    // libcurl tells nothing about a second attempt that failed; by HTTP/2 the first may have had phases of
    // its own.
    if isResent, !transfer.isHTTP1 || transfer.connectionCount == 0 && transfer.statusCode == 0 {
      return false
    }
    var reached: Int64 = 0
    // On an open connection, libcurl reports some microseconds for a look-up in its cache.
    if transfer.isConnectionReused != true {
      // libcurl does not tell when a tunnel was open: it is part of `connect`, and so is the handshake in it.
      let isTunneled = transfer.tunnel != nil
      for (phase, end) in [
        (RequestTimings.Phase.resolve, isResent ? min(look, connect) : look),
        (.connect, isTunneled ? transfer.appConnect : connect), (.tls, transfer.appConnect),
      ]
      where phase != .tls || transfer.relay.isSecure && !isTunneled {
        // Before 8.0 libcurl reports a connection as open only after the whole handshake: a failed handshake
        // leaves one time.
        if phase == .connect, end == 0, transfer.wantsHandshake, !isTunneled { continue }
        if let border = end > 0 ? end : leg, !note(phase, border - reached) { return false }
        if end == 0 {
          // A transfer that has not looked up its name may wait for a connection.
          if phase != .resolve || leg != nil {
            last = phase == .connect && transfer.tunnel == .open ? .tls : phase
          }
          return false
        }
        reached = max(reached, end)
      }
    }
    idle += max(0, transfer.ready - reached)
    return true
  }

  /// The phases from when the request could be sent. Times count back from the end.
  private mutating func noteExchange(of transfer: borrowing TransferInfo, within leg: Int64?) {
    let hasBody = transfer.hasBody
    let lateness = hasBody ? 0 : min(idle, transfer.ready, transfer.lateness(within: leg))
    idle -= lateness
    let sendStart = transfer.ready - lateness
    let remaining = leg.map { max(0, $0 - sendStart) }
    let sinceRequest = transfer.timeSinceRequest(within: remaining)
    let (isBodySent, hasHead) = (transfer.isBodySent, transfer.hasHead)
    // If the transfer ended while its body was sent, all of the rest is the upload.
    let upload =
      isBodySent == false
      ? (hasHead ? nil : remaining) : remaining.flatMap { all in sinceRequest.map { all - $0 } }
    if let upload, upload > 0 { note(.upload, upload) }
    switch (isBodySent, hasHead) {
    case (nil, _), (false, true): return
    case (false, false): last = .upload
    case (true, false):
      last = .processing
      if let sinceRequest { note(.processing, sinceRequest) }
    case (true, true):
      last = hasBody ? .response : .transfer
      guard let sinceRequest else {
        // Without the wait the end is unknown, but not for how long the server took to answer.
        if !hasBody { note(.processing, transfer.startTransfer - sendStart) }
        return
      }
      let sinceLastByte = min(transfer.unread, sinceRequest)
      idle += sinceLastByte
      guard let found = transfer.timeSinceFirstByte(within: leg, sinceRequest) else {
        note(.response, sinceRequest - sinceLastByte)
        return
      }
      last = .transfer
      let sinceFirstByte = max(sinceLastByte, min(found, sinceRequest))
      note(.processing, sinceRequest - sinceFirstByte)
      note(.transfer, sinceFirstByte - sinceLastByte)
      firstByte = max(
        0, (transfer.isRedirectRefused ? transfer.total : transfer.elapsed) - sinceFirstByte)
    }
  }
}

/// The borders.
extension TransferInfo {
  /// libcurl's total up to the end; `nil` if unknown. A cancelled transfer's total stops at its last event,
  /// but the tap's clock has measured the same leg, except after a redirect.
  fileprivate var wholeTotal: Int64? {
    guard end == .cancelled, !isRedirectRefused else { return total }
    return redirectCount > 0 ? nil : max(total, elapsed - relay.restart)
  }

  /// Whether libcurl's total is that of the whole request.
  fileprivate var isTotalOfAllLegs: Bool {
    relay.restart == 0 && redirectCount == 0 && (end != .cancelled || isRedirectRefused)
  }

  /// From when libcurl got the request to the turn: the wait for a connection.
  ///
  /// | witness | the request | which libcurl |
  /// |---|---|---|
  /// | libcurl | not sent again; the wait leaves room for what came after it | 8.6 |
  /// | libcurl, the kernel or the head leaves no more than the kernel's clock can tell: 0 | any | any |
  /// | the kernel's time since it was sent | HTTP/1.x, no body, no retransmission, nothing sent later | any |
  /// | no more transfers than connections: 0 | any | any |
  @inline(__always)
  fileprivate func waitForTurn(within attempt: Int64?) -> Int64? {
    guard let attempt else { return nil }
    // The most that the wait can be: later events need the rest.
    var most = attempt - max(resend > 0 ? 0 : nameLookup, ready, hasFirstByte ? startTransfer : 0)
    // libcurl's value is of all attempts to get a connection, unless there was only one, in vain.
    if let queue, resend == 0, queue <= most, max(nameLookup, preTransfer) > 0 || hadFreeConnection {
      return queue
    }
    if let head = relay.head { most = min(most, attempt - (elapsed - head) - startTransfer) }
    let sinceSent = isRedirectRefused ? nil : connection?.info.sinceDataSent
    if let sinceSent { most = min(most, attempt - sinceSent - ready) }
    if most < resolution { return 0 }
    if let sinceSent, isRequestLastSent, connection?.hasNoRetransmission == true, !hasBody,
      sinceSent + resolution >= startTransfer - ready
    {
      return most
    }
    return hadFreeConnection ? 0 : nil
  }

  /// How late libcurl noted that a request without a body went out: 0 if nothing tells it.
  ///
  /// libcurl notes ``preTransfer`` once it has sent it (`mstate_enter_did` in its `multi.c`), so it is late
  /// where the thread loses the processor in between. The kernel knows better, as far as its clock tells (of
  /// what was sent again, it knows when it was sent last: the first time was no later), and the answer took a
  /// round trip at the least.
  fileprivate func lateness(within leg: Int64?) -> Int64 {
    guard !isRedirectRefused, let connection else { return 0 }
    if let leg, isRequestLastSent, let since = connection.info.sinceDataSent,
      since - (leg - ready) >= resolution
    {
      return since - (leg - ready)
    }
    return startTransfer > 0 ? max(0, (connection.info.roundTrip ?? 0) - (startTransfer - ready)) : 0
  }

  /// From the last byte of the request to the end. `remaining` is from when it could be sent.
  ///
  /// | witness | the body | which libcurl |
  /// |---|---|---|
  /// | the request's head | none | any |
  /// | the kernel: less than its clock can tell went by before, and is part of this | HTTP/1.x | any |
  /// | the kernel's time since the last data | HTTP/1.x, no retransmission, or longer than one takes | any |
  /// | libcurl: it was handed to the kernel | not sent again | 8.10 |
  fileprivate func timeSinceRequest(within remaining: Int64?) -> Int64? {
    if !hasBody { return remaining }
    if isRedirectRefused { return nil }
    if isRequestLastSent, let connection {
      let since = connection.info.sinceDataSent
      if let remaining, remaining - (since ?? 0) < resolution { return remaining }
      // A body that fits may have been sent before, and a part again while the server worked. Of a longer one
      // some is sent again wherever the server takes it slowly, and its end came later.
      if let since, connection.hasNoRetransmission || sentBytes ?? 0 > 65_536 { return since }
    }
    guard let remaining, let postTransfer, postTransfer > 0, resend == 0 else { return nil }
    let upload = max(0, postTransfer - ready)
    return upload < resolution ? remaining : max(0, remaining - upload)
  }

  /// From the first byte of the response to the end. One that came before the last of a body is an interim
  /// response's.
  ///
  /// | witness | the response | which libcurl |
  /// |---|---|---|
  /// | libcurl | to a request without a body | any |
  /// | libcurl, after the last of the body | to a request that was not sent again | 8.10 |
  /// | the tap, late by as long as the session's queue was blocked | its head reached a delegate | any |
  /// | the kernel's time since the last data came | complete, by HTTP/1.x, in one segment | any |
  fileprivate func timeSinceFirstByte(within leg: Int64?, _ sinceRequest: Int64) -> Int64? {
    if let leg, hasFirstByte, !hasBody || leg - startTransfer < sinceRequest + resolution {
      return leg - startTransfer
    }
    if let head = relay.head, elapsed - head < sinceRequest + resolution { return elapsed - head }
    if end == .complete, isHTTP1, connection?.isOneSegment == true, sinceReceived < sinceRequest + resolution
    {
      return sinceReceived
    }
    return nil
  }

  /// From when the last byte of the response had come to the end. The kernel knows it by HTTP/1.x, unless the
  /// server has closed the connection: the close may have been the end of the response (RFC 9112, section
  /// 6.3).
  fileprivate var unread: Int64 { connection?.info.isEstablished == true ? sinceReceived : 0 }
}

/// What they stand on.
extension TransferInfo {
  /// For how long nothing of a whole response has come: 0 where the kernel's clock cannot tell.
  private var sinceReceived: Int64 {
    guard end == .complete, isHTTP1, !isRedirectRefused, let since = connection?.info.sinceDataReceived,
      since >= resolution
    else { return 0 }
    return since
  }

  /// From the turn to when the request could be sent. Of a request that was sent again ``preTransfer`` is a
  /// sum, and the connection's times are those of the second: the first was on a connection that was open.
  fileprivate var ready: Int64 { max(resend > 0 ? 0 : preTransfer, connect, appConnect) }

  /// A body, or a part of one, was sent.
  fileprivate var hasBody: Bool { sentBytes ?? 0 > 0 }

  /// Whether the whole body has gone out. `nil` where that is unknown.
  fileprivate var isBodySent: Bool? {
    if end == .complete || !hasBody { return true }
    guard let bodySize, let sentBytes else { return nil }
    if sentBytes < bodySize { return false }
    guard let unsent = connection?.info.unsentBytes else { return postTransfer == nil ? nil : true }
    // By HTTP/2 it may be another request's.
    return unsent == 0 ? true : isHTTP1 ? false : nil
  }

  /// A head has come: to a body not an interim one alone.
  fileprivate var hasHead: Bool { hasBody ? finalStatusCode != nil : hasFirstByte }

  /// libcurl has noted the first byte of a response. It does so too at the end of a connection, before 8.10
  /// at the beginning of an upload (`readwrite_upload` in its `transfer.c`), and at an interim response,
  /// which asks for the body.
  private var hasFirstByte: Bool {
    statusCode ?? 0 > 0
      && (!hasBody || resend == 0 && startTransfer >= postTransfer ?? .max)
  }

  /// The last data on the connection was the request's. TLS ends a connection with an alert: after a failure,
  /// and where one of the sides closes it.
  private var isRequestLastSent: Bool {
    isHTTP1
      && (!relay.isSecure || (end == .complete && !isClosing && connection?.info.isEstablished != false))
  }

  /// The connection serves one transfer at a time. Without TLS nothing else is spoken, so it holds before a
  /// head has come.
  var isHTTP1: Bool { protocolVersion.map { $0 == .http10 || $0 == .http11 } ?? !relay.isSecure }
}
