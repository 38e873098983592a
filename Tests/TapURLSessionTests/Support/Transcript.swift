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

/// Writes down the calls of a delegate, and answers as a test says.
final class TranscriptDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  struct Behaviour: Sendable {
    var followsRedirects = true
    var credential: URLCredential?
    /// Whether it answers questions at all.
    var answers = true
  }

  let done = Gate()
  let invalid = Gate()
  let firstData = Gate()
  let challenged = Gate()

  private let behaviour: Behaviour
  private let uploadBody: [UInt8]
  private let state = Mutex(Transcript())

  init(_ behaviour: Behaviour, uploadBody: [UInt8]) {
    self.behaviour = behaviour
    self.uploadBody = uploadBody
  }

  var transcript: Transcript { state.withLock { $0 } }

  func note(_ event: String) { state.withLock { $0.note(event) } }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    note("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    state.withLock {
      $0.note("data")
      $0.body += data
    }
    firstData.open()
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    note("sent of \(totalBytesExpectedToSend)")
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
  ) {
    note("needs a stream")
    completionHandler(InputStream(data: Data(uploadBody)))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    note("redirect \(response.statusCode) to \(request.httpMethod ?? "") \(request.url?.path ?? "")")
    if behaviour.answers { completionHandler(behaviour.followsRedirects ? request : nil) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    defer { challenged.open() }
    note("challenge \(challenge.previousFailureCount) for \(challenge.protectionSpace.realm ?? "")")
    guard behaviour.answers else { return }
    if let credential = behaviour.credential {
      completionHandler(.useCredential, credential)
    } else {
      completionHandler(.performDefaultHandling, nil)
    }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
    completionHandler: @escaping (CachedURLResponse?) -> Void
  ) {
    note("will cache \(response.data.count)")
    completionHandler(response)
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    note("wrote of \(totalBytesExpectedToWrite)")
    firstData.open()
  }

  func urlSession(_: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo file: URL) {
    state.withLock {
      $0.note("file")
      $0.body = (try? Data(contentsOf: file)).map(Array.init) ?? []
    }
    try? FileManager.default.removeItem(at: file)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock {
      $0.note("complete")
      $0.note(task.response)
      $0.note(error)
      $0.noteCounts(of: task)
    }
    done.open()
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
    note("invalid")
    invalid.open()
  }
}
