/// What a request that has not ended waits for: `waiting_for` of its lines.
public enum RequestWait: String, Sendable, Hashable, CaseIterable {
  /// URLSession has taken the request and has not started it: something holds the queue of all sessions.
  case start
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
  /// The caller of an inbound request, to which the response is being written.
  case client
}

/// How far a request has come. What is unknown is `nil`.
package struct RequestProgress: Sendable, Hashable {
  /// What the request waits for.
  package var wait: RequestWait?
  /// The status code, once the head of the response has come. That of an interim response is none.
  package var statusCode: Int?
  /// The bytes of the request's body that have gone.
  package var requestBodySize: Int64?
  /// The bytes of the response's body that have come.
  package var responseBodySize: Int64?
  /// When something last passed in either direction.
  package var lastActivity: Instant?

  package init(wait: RequestWait? = nil, statusCode: Int? = nil, lastActivity: Instant? = nil) {
    (self.wait, self.statusCode, self.lastActivity) = (wait, statusCode, lastActivity)
  }
}

/// What knows how far a request has come.
///
/// The request's record keeps it for as long as it lives itself. So it is a small object that leads neither
/// to the record nor to what ends the request: to ask it keeps nothing alive, whatever ends meanwhile.
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
