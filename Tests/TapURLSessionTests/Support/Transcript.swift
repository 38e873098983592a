import TestSupport

/// All that an app sees of one request. Two transcripts are equal when the app cannot tell them apart.
struct Transcript: Equatable, Sendable {
  /// The callbacks in their order; consecutive pieces of one stream count as one, since the network cuts
  /// them where it likes.
  var events: [String] = []
  var status: Int?
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var error: String?
  /// What the task counted: sent, expected to send, received, expected to receive.
  var counts: [Int64] = []
  var cookies: [String] = []
  var cachedBytes: Int?

  mutating func note(_ event: String) { if events.last != event { events.append(event) } }

  mutating func note(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse else { return }
    status = response.statusCode
    headers = [:]
    for (name, value) in response.allHeaderFields { headers["\(name)"] = "\(value)" }
  }

  mutating func note(_ error: (any Error)?) {
    guard let error = error as NSError? else { return }
    self.error = "\(error.domain) \(error.code)"
  }

  mutating func noteCounts(of task: URLSessionTask) {
    counts = [
      task.countOfBytesSent, task.countOfBytesExpectedToSend, task.countOfBytesReceived,
      task.countOfBytesExpectedToReceive,
    ]
  }

  /// Adds what the request left behind in the session's stores.
  mutating func noteStores(of configuration: URLSessionConfiguration, request: URLRequest) {
    let stored = request.url.flatMap { configuration.httpCookieStorage?.cookies(for: $0) } ?? []
    cookies = stored.map { "\($0.name)=\($0.value)" }.sorted()
    cachedBytes = configuration.urlCache?.cachedResponse(for: request)?.data.count
  }
}
