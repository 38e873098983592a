/// What a request waits for: `waiting_for` of its lines.
public enum RequestWait: String, Sendable, Hashable, CaseIterable {
  /// URLSession has taken the request and has not started it: something holds the queue of all sessions.
  case start
  /// A free connection: other requests of the session have all that a host gets.
  case queue
  /// The address of the host.
  case resolve
  /// The connection, and a proxy's tunnel to the server.
  case connect
  /// The TLS handshake.
  case tls
  /// The server, which has not taken the whole body of the request.
  case upload
  /// The response: its head has not come.
  case response
  /// The rest of the response.
  case body
  /// The app, which has not answered the server's challenge.
  case credentials
  /// The app, which has not answered a redirect.
  case redirect
  /// The app's handler, which has not responded to an inbound request.
  case handler
  /// A request that the app makes within an inbound one, to which it has not responded.
  case request
  /// The caller of an inbound request, to which the response is being written.
  case client

  /// Whether parts of a body are sent or received meanwhile.
  package var movesData: Bool { [.upload, .body, .client].contains(self) }
}

/// A request that has not ended, as far as it is known. What is unknown is `nil`.
public struct RequestSnapshot: Sendable, Equatable {
  /// The request, with the fields that the app has added until now.
  public package(set) var request: RequestDescription
  /// When it began. One that has not been started (``RequestWait/start``) waits since then, give or take 0.1
  /// s.
  public let start: Timestamp
  /// ``start`` on the monotonic clock. The same in all snapshots of a request that has begun.
  package let begin: Instant
  /// What the calls within a served request have taken until now; `nil` without any.
  package var upstream: UpstreamTime?
  /// The request's record: in one list of requests, no other has it.
  let record: ObjectIdentifier?
  private let now: Instant
  private let progress: RequestProgress

  /// - Parameter now: The moment of the snapshot.
  package init(
    _ request: RequestDescription, start: Timestamp, begin: Instant, _ progress: RequestProgress,
    _ upstream: UpstreamTime? = nil, of record: ObjectIdentifier? = nil, at now: Instant
  ) {
    (self.request, self.start, self.begin, self.now) = (request, start, begin, now)
    (self.progress, self.upstream, self.record) = (progress, upstream, record)
  }

  /// Whether the app makes this request within a served one of the same list.
  package func isMade(within other: RequestSnapshot) -> Bool {
    guard let served = request.traceContext?.served else { return false }
    return ObjectIdentifier(served) == other.record
  }

  /// The time since the start.
  public var duration: Duration { max(.zero, begin.duration(to: now)) }
  /// What the request waits for.
  public var wait: RequestWait? {
    let isCalling = upstream?.clients.contains { $0.activeCount > 0 } == true
    return progress.wait == .handler && isCalling ? .request : progress.wait
  }
  /// The status code, once the head of the response has come.
  public var statusCode: Int? { progress.statusCode }
  /// The bytes of the request's body that have gone.
  public var requestBodySize: Int64? { progress.requestBodySize }
  /// The bytes of the response's body that have come, or gone of an inbound request.
  public var responseBodySize: Int64? { progress.responseBodySize }
  /// For how long nothing has passed in either direction, as far as that was seen: until the last look at the
  /// request, two seconds ago at most. Where only looks tell, the time before the first one is missing. `nil`
  /// if it is unknown.
  public var idleTime: Duration? {
    (progress.lastActivity ?? progress.quietSince).map { max(.zero, $0.duration(to: progress.seen ?? now)) }
  }

  /// The same, or `nil` where the time before the first look is missing and no body is sent or received: then
  /// the age of the request tells more.
  package var knownIdleTime: Duration? {
    progress.lastActivity != nil || wait.map(\.movesData) == true ? idleTime : nil
  }
}

extension RequestSnapshot: CustomStringConvertible {
  /// Such as `GET http://localhost/ waits for response, 3.2 s`: what a test's failure shows.
  public var description: String {
    let tenths = duration.nanoseconds / 100_000_000
    let waits = wait.map { "waits for \($0.rawValue)" } ?? "is active"
    return "\(request.method) \(request.url) \(waits), \(tenths / 10).\(tenths % 10) s"
  }
}

/// How far a request has come. What is unknown is `nil`.
package struct RequestProgress: Sendable, Equatable {
  package var wait: RequestWait?
  /// That of an interim response is none.
  package var statusCode: Int?
  package var requestBodySize: Int64?
  package var responseBodySize: Int64?
  /// When something last passed in either direction.
  package var lastActivity: Instant?
  /// Where that is unknown: since when it was seen that nothing does.
  package var quietSince: Instant?
  /// When that was looked at: `nil` where all that passes is seen.
  package var seen: Instant?

  package init(wait: RequestWait? = nil, statusCode: Int? = nil, lastActivity: Instant? = nil) {
    (self.wait, self.statusCode, self.lastActivity) = (wait, statusCode, lastActivity)
  }
}

/// What knows how far a request has come.
///
/// The request's record keeps it until the request's end. So it must not keep alive what would end a request
/// that is abandoned, nor the record.
package protocol RequestProgressSource: AnyObject, Sendable {
  /// How far the request has come. Called on any thread between the begin and the end of the request, and
  /// later: waits for no more than a short lock, and calls neither Foundation nor libcurl.
  var progress: RequestProgress { get }

  /// Finds out what only a queue knows that others may hold, for the next ``progress``. Never waits.
  ///
  /// - Parameter done: Called once that is found out: at once where there is no such queue, and never while
  ///   it is held.
  func look(then done: @escaping @Sendable () -> Void)
}
