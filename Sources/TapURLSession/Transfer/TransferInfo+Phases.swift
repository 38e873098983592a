import TapCore

/// libcurl before 8.6 does not say how long a transfer waited for a connection. The kernel says for how long nothing has been sent on
/// the socket: for a request without a body that is since the request's head. So all is in one clock:
/// `queue = total - sinceDataSent - preTransfer`.
extension TransferInfo {
  /// Finds the phases and the first byte. What cannot be known is absent.
  mutating func findPhases() {
    var total: Int64? = total
    if end == .cancelled, !isHeldByApp {
      // libcurl's total is where it was when something last happened. The tap's clock serves where it has measured the same leg.
      total = seen.isRestarted || redirectCount > 0 ? nil : max(self.total, elapsed / 1_000)
    }
    guard total != 0 else { return }
    // What was spent on a connection that the server had closed is no phase.
    let attempt = total.map { $0 - resend }
    let wait = wait(within: attempt)
    if let queue = resend > 0 ? queue ?? wait : wait {
      // No connection was waited for if one was free: then it is until Foundation's queue came to the transfer.
      if queue >= 1_000, !hadFreeConnection {
        timings[microseconds: .queue] = queue
      } else if resend == 0 {
        idle = queue
      }
    }
    // From when the transfer got its turn to its end.
    let leg = attempt.flatMap { attempt in wait.map { max(0, attempt - $0) } }
    if noteConnection(within: leg) {
      if hasSentBody { noteUpload(leg) } else { noteResponse(leg, from: sentHead(within: leg)) }
    }
    // What is left of the duration, before libcurl, between its phases, and after it, is known where libcurl's total is that of the
    // whole request.
    guard let total, !seen.isRestarted, redirectCount == 0, end != .cancelled || isHeldByApp else { return }
    timings[nanoseconds: .local] = max(0, elapsed - total * 1_000) + idle * 1_000
  }

  /// The wait for a connection. The first rule that holds decides.
  @inline(__always)
  private func wait(within total: Int64?) -> Int64? {
    guard let total else { return nil }
    // Whatever has happened after the turn leaves no more for the wait than this.
    var most = total - max(resend > 0 ? 0 : nameLookup, sent, hasFirstByte ? startTransfer : 0)
    // libcurl says it, from 8.6 on: of all attempts to get a connection, unless there was only one of them, in vain.
    if let queue, resend == 0, queue <= most, max(nameLookup, preTransfer) > 0 || hadFreeConnection {
      return queue
    }
    if hasFirstByte, let head = seen.head, !isHeldByApp {
      most = min(most, total - (elapsed - head) / 1_000 - startTransfer)
    }
    let sinceSent = preTransfer > 0 && !isHeldByApp ? connection?.info.sinceDataSent : nil
    if let sinceSent { most = min(most, total - sinceSent - sent) }
    if most < resolution { return 0 }
    // The kernel says it, where the last data on the socket was the request.
    if let sinceSent, connection?.hasNoRetransmission == true, !hasSentBody, isHTTP1, sendsNothingAtEnd,
      sinceSent + resolution >= startTransfer - sent
    {
      return most
    }
    return hadFreeConnection ? 0 : nil
  }

  /// Notes the phases up to when the request could be sent. `false` if the transfer ended in one of them.
  private mutating func noteConnection(within leg: Int64?) -> Bool {
    // Of a second attempt that came to nothing libcurl says nothing; by HTTP/2 the first may have had phases of its own.
    if resend > 0, !isHTTP1 || connectionCount == 0 && statusCode == 0 { return false }
    var reached: Int64 = 0
    // On a connection that was open, libcurl tells some microseconds for a look-up in its cache.
    if isConnectionReused != true {
      for (phase, end) in [
        (RequestTimings.Phase.resolve, resend > 0 ? min(nameLookup, connect) : nameLookup),
        (.connect, connect), (.tls, appConnect),
      ]
      where phase != .tls || seen.isSecure {
        // Older ones tell when the connection is open only once all of it is: of a handshake that fails there is one time.
        if phase == .connect, end == 0, wantsHandshake { continue }
        timings[microseconds: phase] = (end > 0 ? end : leg).map { max(0, $0 - reached) }
        if end == 0 {
          // What has not looked up its name may wait for a connection.
          if phase != .resolve || leg != nil { last = phase }
          return false
        }
        reached = max(reached, end)
      }
    }
    idle += max(0, sent - reached)
    return true
  }

  /// When the request went out. libcurl notes ``preTransfer`` once it has sent it (`mstate_enter_did` in its `multi.c`), so it is late
  /// where the thread loses the processor in between. The kernel knows better, as far as its clock tells, and the answer took a round
  /// trip at the least.
  private mutating func sentHead(within leg: Int64?) -> Int64 {
    guard idle > 0, !isHeldByApp, let connection else { return sent }
    var delay = startTransfer > 0 ? (connection.info.roundTrip ?? 0) - (startTransfer - sent) : 0
    if let leg, isHTTP1, sendsNothingAtEnd, connection.hasNoRetransmission,
      let since = connection.info.sinceDataSent, since - (leg - sent) >= resolution
    {
      delay = since - (leg - sent)
    }
    delay = min(idle, sent, max(0, delay))
    idle -= delay
    return sent - delay
  }

  private mutating func noteResponse(_ leg: Int64?, from sent: Int64) {
    last = startTransfer > 0 ? .transfer : .processing
    guard startTransfer > 0 else {
      timings[microseconds: .processing] = leg.map { max(0, $0 - sent) }
      return
    }
    let first = max(startTransfer, sent)
    var processing = first - sent
    var transfer = leg.map { max(0, $0 - first) }
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
    let remaining = leg - sent - processing
    firstByte = isHeldByApp ? max(0, total - remaining) * 1_000 : max(0, elapsed - max(0, remaining) * 1_000)
  }

  /// The phases of a request with a body, from when it could be sent.
  private mutating func noteUpload(_ leg: Int64?) {
    var isBodySent = bodySize.flatMap { size in sentBytes.map { $0 >= size } }
    let unsent = connection?.info.unsentBytes
    // By HTTP/2 another request's.
    if isBodySent == true, unsent ?? 0 > 0 { isBodySent = isHTTP1 ? false : nil }
    if isBodySent == true, unsent != nil || postTransfer != nil {
      last = finalStatusCode == nil ? .processing : .response
    }
    let remaining = leg.map { max(0, $0 - sent) }
    guard end == .complete || isBodySent != false, let after = timeAfterBody(remaining) else {
      // What ended while the body went out has spent the remaining time in that.
      if end != .complete, finalStatusCode == nil, isBodySent == false {
        timings[microseconds: .upload] = remaining
        last = .upload
      }
      return
    }
    if let remaining, remaining > after { timings[microseconds: .upload] = remaining - after }
    if end != .complete {
      if isBodySent == true, let last { timings[microseconds: last] = after }
      return
    }
    // An earlier first byte is that of an interim response.
    if let leg, hasFirstByte, startTransfer + resolution >= leg - after {
      return noteResponse(leg, from: leg - after)
    }
    // In ticks, so it may seem to be longer than what libcurl's clock leaves for it.
    let unread = min(sinceReceived, after)
    idle += unread
    if isHTTP1, connection?.isOneSegment == true, sinceReceived - after < resolution {
      timings[microseconds: .processing] = after - unread
      timings[microseconds: .transfer] = 0
      firstByte = max(0, elapsed - unread * 1_000)
    } else {
      timings[microseconds: .response] = after - unread
    }
  }

  /// From the last byte of the request's body to the end. The kernel knows when that went out, and libcurl from 8.10 on when it was
  /// handed to the kernel.
  ///
  /// - Parameter remaining: From when the request could be sent to the end.
  private func timeAfterBody(_ remaining: Int64?) -> Int64? {
    if isHeldByApp { return nil }
    if isHTTP1, sendsNothingAtEnd, let connection {
      // A short upload is none that the kernel's clock could tell, and in a short time that clock has nothing to tell.
      let after = connection.info.sinceDataSent ?? 0
      if let remaining, remaining - after < resolution { return remaining }
    }
    if isHTTP1, sendsNothingAtEnd, let connection, let after = connection.info.sinceDataSent {
      // All of the body may have been sent before, and a part have gone out again while the server worked. Of a body that cannot all be
      // under way at once, some is sent again wherever the server takes it slowly, and its end came later.
      if connection.hasNoRetransmission || sentBytes ?? 0 > 65_536 { return after }
    }
    guard let remaining, let postTransfer, postTransfer > 0, resend == 0 else { return nil }
    let upload = max(0, postTransfer - sent)
    return upload < resolution ? remaining : max(0, remaining - upload)
  }

  /// For how long the whole response has lain in the socket before it was read: 0 where the kernel's clock cannot tell, and where the
  /// server has closed the connection, since the last data need not have been the end then.
  private var sinceReceived: Int64 {
    guard end == .complete, isHTTP1, !isHeldByApp, let info = connection?.info, info.isEstablished,
      info.sinceDataReceived >= resolution
    else { return 0 }
    return info.sinceDataReceived
  }

  /// From the turn to when the request could be sent. Of a request that was sent again ``preTransfer`` is a sum, and the connection's
  /// times are those of the second: the first was on a connection that was open.
  private var sent: Int64 { max(resend > 0 ? 0 : preTransfer, connect, appConnect) }

  /// A body, or a part of one, was sent.
  private var hasSentBody: Bool { sentBytes ?? 0 > 0 }

  /// Before 8.10 libcurl takes the beginning of an upload for the first byte (`readwrite_upload` in its `transfer.c`).
  private var hasFirstByte: Bool {
    startTransfer > 0 && (!hasSentBody || postTransfer != nil && resend == 0)
  }

  /// The last data on the connection was the request's. TLS ends a connection with an alert: after a failure, and where one of the
  /// sides closes it.
  private var sendsNothingAtEnd: Bool {
    !seen.isSecure || (end == .complete && !isClosing && connection?.info.isEstablished != false)
  }

  /// The connection serves one transfer at a time. Without TLS nothing else is spoken, so it holds before a head has come.
  private var isHTTP1: Bool { protocolVersion.map { $0 == .http10 || $0 == .http11 } ?? !seen.isSecure }
}

extension RequestTimings {
  fileprivate subscript(microseconds phase: Phase) -> Int64? {
    get { self[nanoseconds: phase].map { $0 / 1_000 } }
    set { self[nanoseconds: phase] = newValue.map { $0.multipliedReportingOverflow(by: 1_000).partialValue } }
  }
}
