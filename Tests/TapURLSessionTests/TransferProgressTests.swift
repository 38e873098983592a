import TestSupport

@testable import TapURLSession

/// What is known of requests that hang, against a server that a test controls.
@Suite struct TransferProgressTests {
  /// Waits until what is known of a request is as wanted.
  private func progress(
    of url: URL, _ what: String, until isReached: (RequestProgress) -> Bool
  ) async throws -> RequestProgress {
    try await AskedProtocol.all.wait("the task") { $0[url] != nil }
    let asked = try #require(AskedProtocol.all.state[url])
    return try await Poll.until(what) {
      let isLookedAt = Gate()
      asked.look { isLookedAt.open() }
      try await isLookedAt.wait("the look")
      let known = asked.progress
      return isReached(known) ? known : nil
    }
  }

  /// Cancels what hangs, and waits until nothing of it is left, although its progress is kept.
  private func cancel(_ task: URLSessionTask, of url: URL) async throws -> RequestObservation {
    task.cancel()
    let observation = try await Poll.until("the end") {
      AskedProtocol.observer.ended.first { $0.request.url == url.absoluteString }
    }
    #expect(observation.end == .cancelled)
    try await AskedProtocol.living.wait("the release") { !$0.contains(url) }
    return observation
  }

  private enum Body: CaseIterable { case none, data }

  @Test(arguments: Body.allCases, [false, true])
  private func `a server that never answers`(body: Body, hasDelegate: Bool) async throws {
    let (asked, over) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(asked), .hold(over)] }
    defer { over.open() }
    let session = AskedProtocol.session(hasDelegate ? TranscriptDelegate(.init(), uploadBody: []) : nil)
    let request = with(URLRequest(url: origin.url())) { $0.httpMethod = body == .none ? "GET" : "POST" }
    let resumed = Instant.now
    let task =
      body == .none
      ? session.dataTask(with: request) : session.uploadTask(with: request, from: Data([1, 2, 3]))
    task.resume()
    try await asked.wait("the request")
    let known = try await progress(of: origin.url(), "a wait") { $0.wait != nil }
    #expect(known.wait == .response && known.statusCode == nil && known.responseBodySize == 0)
    #expect(known.requestBodySize == (body == .none ? 0 : 3))
    #expect((resumed...Instant.now).contains(try #require(known.lastActivity)))
    // Nothing passes, however often that is asked: a question looks at most once a second.
    let seen = Instant.now
    // What a look has found counts for two seconds, which a busy machine may miss.
    let later = try await progress(of: origin.url(), "further looks") {
      seen.duration(to: .now) > .seconds(3) && $0.lastActivity != nil
    }
    #expect(later.lastActivity == known.lastActivity)
    _ = try await cancel(task, of: origin.url())
  }

  @Test(arguments: [false, true])
  func `a server that dribbles, and stops in the body`(hasDelegate: Bool) async throws {
    let (more, over) = (Gate(), Gate())
    let origin = try Origin { _ in
      [.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), .hold(more), .text(","), .hold(over)]
    }
    defer { over.open() }
    let session = AskedProtocol.session(hasDelegate ? TranscriptDelegate(.init(), uploadBody: []) : nil)
    let task = session.dataTask(with: origin.url())
    task.resume()
    let known = try await progress(of: origin.url(), "a part of the body") { $0.responseBodySize == 5 }
    #expect(known.wait == .body && known.statusCode == 200 && known.requestBodySize == 0)
    more.open()
    let later = try await progress(of: origin.url(), "a byte") { $0.responseBodySize == 6 }
    #expect(try #require(later.lastActivity) > #require(known.lastActivity))
    _ = try await cancel(task, of: origin.url())
  }

  @Test(arguments: [false, true])
  func `a challenge, which is open or answered`(isAnswered: Bool) async throws {
    let over = Gate()
    let origin = try Origin { request in
      request.headers["authorization"] == nil
        ? [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"x\"")])]
        : [.hold(over)]
    }
    defer { over.open() }
    let credential = URLCredential(user: "a", password: "b", persistence: .none)
    let delegate = TranscriptDelegate(
      .init(credential: credential, answersChallenges: isAnswered), uploadBody: [])
    let task = AskedProtocol.session(delegate).dataTask(with: origin.url())
    task.resume()
    try await delegate.challenged.wait("the challenge")
    if isAnswered {
      try await Poll.until("the second request") { origin.requests.count == 2 }
      // What Foundation's second loader waits for is not known.
      _ = try await progress(of: origin.url(), "the answer") { $0.wait == nil }
    } else {
      _ = try await progress(of: origin.url(), "the question") { $0.wait == .credentials }
    }
    _ = try await cancel(task, of: origin.url())
  }

  private final class SilentDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {}
  }

  @Test func `a redirect that the app does not answer`() async throws {
    let origin = try Origin { _ in [.redirect(to: "/end")] }
    let task = AskedProtocol.session(SilentDelegate()).dataTask(with: origin.url())
    task.resume()
    let known = try await progress(of: origin.url(), "the question") { $0.wait == .redirect }
    #expect(known.statusCode == 302)
    // The app has cut it off, in none of the server's phases.
    #expect(try await cancel(task, of: origin.url()).cutOffPhase == nil)
  }

  /// When something last passed is not known of it: libcurl's times are those of the last leg.
  @Test func `a redirect that was followed, and is not answered`() async throws {
    let (asked, over) = (Gate(), Gate())
    let origin = try Origin { request in
      request.path == "/end" ? [.signal(asked), .hold(over)] : [.redirect(to: "/end")]
    }
    defer { over.open() }
    let task = AskedProtocol.session(nil).dataTask(with: origin.url())
    task.resume()
    try await asked.wait("the second request")
    let known = try await progress(of: origin.url(), "a wait") { $0.wait != nil }
    #expect(known.wait == .response && known.statusCode == nil && known.lastActivity == nil)
    #expect(known.requestBodySize == 0)
    _ = try await cancel(task, of: origin.url())
  }

  @Test func `what passes the relay decides where nothing else is known`() {
    func instant(_ nanoseconds: Int64) -> Instant { Instant(nanoseconds: nanoseconds) }
    var state = TransferProgress.State(relay: TransferInfo.Relay())
    var progress: RequestProgress { state.progress(at: .now) }
    #expect(progress == RequestProgress(wait: .start))
    let isFirst = state.begin(at: instant(5))
    #expect(isFirst)
    #expect(progress == RequestProgress(wait: .response, lastActivity: instant(5)))
    for status in [100, 103, 199] { state.receive(status: status, at: instant(6)) }
    #expect(progress.wait == .response && progress.statusCode == nil)
    state.receive(status: 200, at: instant(9))
    #expect(progress.wait == .body && progress.statusCode == 200 && state.relay.head == 4)
    // To resume a task that runs starts nothing.
    let isFirstAgain = state.begin(at: instant(10))
    #expect(!isFirstAgain && state.relay.restart == 0 && state.relay.statusCode == 200)
    state.isSuspended = true
    #expect(progress.wait == nil)
    let isFirstAfterAll = state.begin(at: instant(15))
    #expect(!isFirstAfterAll && state.relay.restart == 10 && state.relay.head == nil)
    #expect(progress == RequestProgress(wait: .response, lastActivity: instant(15)))
    state.challenge = .open
    #expect(progress.wait == .credentials)
    state.challenge = .answered
    #expect(progress.wait == nil)
    (state.challenge, state.isDone) = (.none, true)
    #expect(progress.wait == nil)
    // 0 is no restart.
    var early = TransferProgress.State(start: instant(5), relay: TransferInfo.Relay(), isSuspended: true)
    _ = early.begin(at: instant(5))
    #expect(early.relay.restart == 1)
    // What is noted on another thread may be of an earlier instant.
    #expect(early.elapsed(at: instant(4)) == 0 && early.elapsed(at: instant(7)) == 2)
  }

  @Test func `libcurl is looked at once in a second, while a native loader is at work`() {
    func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
    var state = TransferProgress.State(relay: TransferInfo.Relay())
    func looks(at milliseconds: Int64) -> Bool { state.beginLook(at: instant(milliseconds)) }
    _ = state.begin(at: instant(0))
    #expect(!looks(at: 1))
    state.queue = .global()
    // A native loader does not report all that passes.
    #expect(state.progress(at: instant(1)) == RequestProgress())
    #expect(looks(at: 1) && !looks(at: 2_000))
    (state.isLooking, state.look) = (false, TransferProgress.Look(at: instant(1_000)))
    #expect(state.progress(at: instant(2_999)).wait == .response)
    #expect(!looks(at: 1_999) && looks(at: 2_000))
    // The queue is held: what was found is of another time.
    #expect(state.progress(at: instant(3_000)) == RequestProgress())
    state.look?.lastActivity = instant(700)
    #expect(state.progress(at: instant(2_000)).lastActivity == instant(700))
    (state.lastActivity, state.isLooking) = (instant(800), false)
    #expect(state.progress(at: instant(2_000)).lastActivity == instant(800))
    state.challenge = .open
    #expect(!looks(at: 8_000))
    (state.challenge, state.isDone) = (.none, true)
    #expect(!looks(at: 9_000))
    // What was seen of it before is of another transfer.
    (state.isDone, state.isSuspended) = (false, true)
    _ = state.begin(at: instant(2_001))
    #expect(state.look == nil && looks(at: 2_001))
    var waiting = TransferProgress.State(relay: TransferInfo.Relay(), queue: .global())
    let looksBeforeStart = waiting.beginLook(at: instant(1))
    #expect(!looksBeforeStart)
  }

  @Test func `what a look finds is what is known of a native loader's transfer`() {
    let look = TransferProgress.Look(
      at: Instant(nanoseconds: 9), statusCode: 206, requestBodySize: 3, responseBodySize: 5,
      lastActivity: Instant(nanoseconds: 7))
    var state = TransferProgress.State(
      start: Instant(nanoseconds: 1), relay: TransferInfo.Relay(), queue: .global(), look: look)
    state.relay.loadedBytes = 4
    var expected = RequestProgress(wait: .body, statusCode: 206, lastActivity: Instant(nanoseconds: 7))
    (expected.requestBodySize, expected.responseBodySize) = (3, 5)
    #expect(state.progress(at: Instant(nanoseconds: 10)) == expected)
    // A delegate has got the head of another response since.
    state.relay.statusCode = 200
    #expect(state.progress(at: Instant(nanoseconds: 10)).statusCode == 200)
    let others = [
      with(look) { $0.statusCode = nil }, with(look) { $0.requestBodySize = 4 },
      with(look) { $0.responseBodySize = 6 },
    ]
    #expect(others.allSatisfy { !$0.hasSame(as: look) })
    #expect(with(look) { $0.at = .never }.hasSame(as: look))
  }
}

/// A metrics protocol whose progress a test can ask for.
private final class AskedProtocol: URLProtocol {
  static let (tap, observer) = URLSessionTap.observed()
  private static let context = TapContext(clients: [.init(tap: tap, name: "test")], loaders: [])
  static let all = Watched<[URL: TransferProgress]>([:])
  /// The URLs of the objects of this class.
  static let living = Watched<Set<URL>>([])

  private let url: URL
  private let loader: URLProtocol?
  private let relay: ClientRelay?

  static func session(_ delegate: (any URLSessionDelegate)?) -> URLSession {
    URLSession(configuration: .ephemeral(with: self), delegate: delegate, delegateQueue: nil)
  }

  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    (url, loader, relay) = (request.url ?? URL(fileURLWithPath: "/"), nil, nil)
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    url = request.url ?? URL(fileURLWithPath: "/")
    // Foundation's own client, which a protocol without one makes.
    let original = MockProtocol(task: task, cachedResponse: nil, client: client).client
    relay = original.map { ClientRelay(to: $0, TaskRequest(request), in: nil, context: Self.context) }
    loader = TapContext.nativeHTTP?.init(task: task, cachedResponse: cachedResponse, client: relay)
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    self.task = task
    Self.living.change { [url] in $0.insert(url) }
    if let progress = relay?.progress { Self.all.change { [url] in $0[url] = progress } }
  }

  deinit {
    relay?.leaveTask()
    Self.living.change { [url] in $0.remove(url) }
  }

  override func startLoading() {
    guard let loader else { return }
    relay?.start(loader)
    loader.startLoading()
  }

  override func stopLoading() {
    if task?.state == .canceling, let loader { relay?.cancel(loader) }
  }
}
