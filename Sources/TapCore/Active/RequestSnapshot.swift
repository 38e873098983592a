/// A request that has not ended, as far as it is known. What is unknown is `nil`.
public struct RequestSnapshot: Sendable, Hashable {
  /// The request, with the fields that the app has added until now.
  public let request: RequestDescription
  /// When it began. One that has not been started (``RequestWait/start``) waits since then, give or take 0.1
  /// s.
  public let start: Timestamp
  /// The time since then.
  public let duration: Duration
  /// What the request waits for.
  public let wait: RequestWait?
  /// The status code, once the head of the response has come.
  public let statusCode: Int?
  /// The bytes of the request's body that have gone.
  public let requestBodySize: Int64?
  /// The bytes of the response's body that have come, or gone of an inbound request.
  public let responseBodySize: Int64?
  /// The time since something last passed.
  public let idleTime: Duration?

  package init(
    request: RequestDescription, start: Timestamp, duration: Duration, progress: RequestProgress,
    at now: Instant
  ) {
    (self.request, self.start, self.duration) = (request, start, duration)
    (wait, statusCode) = (progress.wait, progress.statusCode)
    (requestBodySize, responseBodySize) = (progress.requestBodySize, progress.responseBodySize)
    idleTime = progress.lastActivity.map { max(.zero, $0.duration(to: now)) }
  }
}

extension RequestSnapshot: CustomStringConvertible {
  /// Such as `GET http://localhost/ waits for response, 3.2 s`: what a test's failure shows.
  public var description: String {
    let tenths = duration.nanoseconds / 100_000_000
    let waits = wait.map { "waits for \($0.rawValue)" } ?? "is under way"
    return "\(request.method) \(request.url) \(waits), \(tenths / 10).\(tenths % 10) s"
  }
}
