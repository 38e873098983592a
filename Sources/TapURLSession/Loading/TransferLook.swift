import TapCore
import TapFoundation

/// What libcurl and the kernel say of a transfer that goes on, at one moment.
///
/// Of each value there is a witness, or it is absent.
struct TransferLook: Sendable, Equatable {
  /// What has passed until a look. Two looks that differ have seen that something passed between them.
  struct Passed: Sendable, Equatable {
    var statusCode: Int?
    /// The request's head, if it has gone.
    var isSent = false
    var sentBytes: Int64?
    var receivedBytes: Int64?
    /// Of all heads, those of interim responses too.
    var headSize: Int?
  }

  /// What an earlier look has seen counts for so long where the app holds the queue of the looks, and two
  /// looks see when something passed if they are no further apart.
  static let validity: Int64 = 2_000_000_000

  let at: Instant
  var found: RequestProgress
  var passed = Passed()

  /// Nanoseconds.
  func age(at now: Instant) -> Int64 { now.nanoseconds - at.nanoseconds }

  /// Finds out since when nothing has passed.
  ///
  /// | witness | the transfer |
  /// |---|---|
  /// | the kernel | HTTP/1.x |
  /// | two looks, of which the second found more: it was then, give or take their distance | any |
  /// | two looks, of which the second found no more: it was before the first | any |
  ///
  /// - Parameter kernel: When data last passed, if the kernel knows.
  mutating func noteActivity(kernel: Instant?, after before: TransferLook?) {
    found.seen = at
    found.lastActivity = kernel
    guard kernel == nil, let before else { return }
    if passed == before.passed {
      found.lastActivity = before.found.lastActivity
      found.quietSince = before.found.quietSince ?? before.at
    } else if before.age(at: at) <= Self.validity {
      found.lastActivity = at
    }
  }
}

/// What only a look asks libcurl for.
struct CurlActivity: Sendable, Hashable {
  /// CURLINFO_HEADER_SIZE: of all heads of the last leg.
  var headSize: Int?
  /// CURLINFO_CONN_ID, which libcurl has from 8.2 on: -1 while the transfer has no connection.
  var connectionID: Int64?
}

extension TransferInfo {
  /// What the transfer waits for. libcurl's times are 0 until they are reached.
  ///
  /// - Parameters:
  ///   - bodySize: How many bytes the request's body has: `nil` for a stream.
  ///   - unsent: What the kernel has of the request, and has not sent.
  func wait(_ activity: CurlActivity, bodySize: Int64?, unsent: UInt32?) -> RequestWait? {
    if finalStatusCode != nil { return .body }
    // What libcurl says of an attempt that failed on a connection that the server had closed stays until the
    // next one has a connection.
    if resend > 0, connectionCount ?? 0 == 0 { return nil }
    if preTransfer == 0 { return connectionWait(activity) }
    if bodySize == 0 || redirectCount > 0 { return .response }
    if let unsent, unsent > 0 { return .upload }
    if let bodySize, let sentBytes { return sentBytes < bodySize ? .upload : .response }
    return postTransfer ?? 0 > 0 ? .response : nil
  }

  private func connectionWait(_ activity: CurlActivity) -> RequestWait {
    // It is counted when TCP has connected, in all versions; the time comes with the whole connection.
    if connectionCount ?? 0 > 0 { return relay.isSecure && tunnel != .requested ? .tls : .connect }
    if nameLookup > 0 { return .connect }
    // Before 8.2 the total goes on while a name is looked up, and not while others have all connections.
    let hasTurn = activity.connectionID.map { $0 >= 0 } ?? (total > 0)
    return hasTurn ? .resolve : .queue
  }
}

extension TCPInfo {
  /// When data last passed on a connection that serves one transfer, as far as the kernel knows: what was
  /// sent again is no sign of the other side.
  func lastActivity(of transfer: borrowing TransferInfo, at now: Instant) -> Instant? {
    var known = self
    known.discardUnknown(in: transfer)
    guard transfer.isHTTP1, let sinceSent = known.sinceDataSent else { return nil }
    let since = min(sinceSent, sinceDataReceived)
    // The kernel's clock may be some milliseconds off: what was sent at once may seem older than the request.
    guard since == sinceDataReceived || retransmittedSegments == 0,
      since <= transfer.elapsed + transfer.resolution
    else { return nil }
    return Instant(nanoseconds: now.nanoseconds - min(since, transfer.elapsed))
  }
}
