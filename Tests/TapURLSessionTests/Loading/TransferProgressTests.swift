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

  private typealias State = TransferProgress.State

  private static func instant(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func `what passes the relay decides where nothing else is known`() {
    let instant = Self.instant
    var isFirst: [Bool] = []
    let steps: [(step: (inout State) -> Void, known: RequestProgress)] = [
      ({ _ in }, .init(.start)),
      // What has not started is not suspended either.
      ({ $0.suspend() }, .init(.start)),
      ({ isFirst.append($0.begin(at: instant(5))) }, .init(.response, at: 5)),
      (
        { state in for status in [100, 103, 199] { state.receive(status: status, at: instant(6)) } },
        .init(.response, at: 5)
      ),
      ({ $0.receive(status: 200, at: instant(9)) }, .init(.body, 200, at: 5)),
      ({ $0.relay.loadedBytes = 4 }, .init(.body, 200, received: 4, at: 5)),
      // To resume a task that runs starts nothing.
      ({ isFirst.append($0.begin(at: instant(10))) }, .init(.body, 200, received: 4, at: 10)),
      ({ $0.suspend() }, .init(nil, 200, received: 4, at: 10)),
      ({ isFirst.append($0.begin(at: instant(15))) }, .init(.response, received: 4, at: 15)),
      ({ $0.leave() }, .init(.response, received: 4, at: 15)),
      ({ $0.phase = .challenged }, .init(.credentials, received: 4, at: 15)),
      ({ isFirst.append($0.begin(at: instant(16))) }, .init(.credentials, received: 4, at: 16)),
      ({ $0.leave() }, .init(nil, received: 4, at: 16)),
      ({ $0.suspend() }, .init(nil, received: 4, at: 16)),
      ({ isFirst.append($0.begin(at: instant(17))) }, .init(nil, received: 4, at: 17)),
      ({ $0.phase = .done }, .init(nil, received: 4, at: 17)),
      ({ $0.suspend() }, .init(nil, received: 4, at: 17)),
    ]
    var state = State(relay: TransferInfo.Relay())
    let known = steps.map { step, _ in
      step(&state)
      return state.progress(at: .now)
    }
    #expect(known == steps.map(\.known))
    #expect(isFirst == [true, false, false, false, false])
    #expect((state.phase, state.start) == (.done, instant(5)) && state.relay.restart == 10_000_000)
    // 0 is no restart, and what is noted on another thread may be of an earlier instant.
    var early = State(phase: .suspended, start: instant(5), relay: TransferInfo.Relay())
    _ = early.begin(at: instant(5))
    #expect((early.relay.restart, early.relay.head, early.elapsed(at: instant(4))) == (1, nil, 0))
    early.receive(status: nil, at: instant(7))
    #expect((early.relay.head, early.relay.statusCode) == (2_000_000, nil))
  }

  /// Whether libcurl is looked at.
  @Test func `libcurl is looked at once in a second, while a native loader is at work`() {
    let found = TransferProgress.Look(at: Self.instant(1_000), found: RequestProgress())
    func looks(_ at: Int64, _ phase: TransferProgress.Phase, after look: TransferProgress.Look?) -> Bool {
      var state = State(phase: phase, relay: TransferInfo.Relay())
      state.native = TransferProgress.Native(queue: .global(), look: look)
      let looks = state.beginLook(at: Self.instant(at))
      let again = state.beginLook(at: Self.instant(at + 9_000))
      #expect(!again || !looks)
      return looks
    }
    #expect([1_999, 2_000].map { looks($0, .loading, after: found) } == [false, true])
    let phases: [TransferProgress.Phase] = [.made, .loading, .suspended, .challenged, .replaced, .done]
    #expect(phases.map { looks(1, $0, after: nil) } == [false, true, true, false, false, false])
    var other = State(phase: .loading, relay: TransferInfo.Relay())
    let looksAtOther = other.beginLook(at: Self.instant(1))
    #expect(!looksAtOther)
    // What was seen of it before is of another transfer.
    other.native = TransferProgress.Native(queue: .global(), look: found)
    other.suspend()
    _ = other.begin(at: Self.instant(1_001))
    #expect(other.native?.look == nil)
  }

  /// What a look has found counts for two seconds: the app may hold the queue. A native loader does not
  /// report all that passes.
  @Test func `what a look finds is what is known of a native loader's transfer`() {
    func known(
      _ found: RequestProgress?, after age: Int64 = 1_999, _ change: (inout State) -> Void = { _ in }
    ) -> RequestProgress {
      let look = found.map { TransferProgress.Look(at: Self.instant(1_000), found: $0) }
      var state = State(phase: .loading, start: Self.instant(1), relay: TransferInfo.Relay())
      state.native = TransferProgress.Native(queue: .global(), look: look)
      (state.relay.loadedBytes, state.lastActivity) = (4, Self.instant(800))
      change(&state)
      return state.progress(at: Self.instant(1_000 + age))
    }
    let body = RequestProgress(.body, 206, sent: 3, received: 5, at: 900)
    let silent = RequestProgress(.response, sent: 0, received: 0)
    #expect(known(nil) == RequestProgress() && known(body, after: 2_000) == RequestProgress())
    #expect(known(body) == body && known(silent) == silent)
    #expect(known(RequestProgress(.response, at: 700)) == RequestProgress(.response, at: 800))
    // A delegate has got the head of another response since.
    let headSeen = { (state: inout State) in (state.relay.statusCode, state.relay.head) = (200, 9) }
    #expect(known(body, headSeen) == with(body) { $0.statusCode = 200 })
    #expect(known(silent, headSeen) == RequestProgress(.body, 200, sent: 0, received: 0))
    #expect(known(nil, headSeen) == RequestProgress(.body, 200))
    let asking = with(body) { $0.wait = .redirect }
    #expect(known(asking, headSeen).wait == .redirect)
    let others = [
      with(body) { $0.statusCode = nil }, with(body) { $0.requestBodySize = 4 },
      with(body) { $0.responseBodySize = 6 },
    ]
    #expect(others.allSatisfy { !$0.hasSame(as: body) } && with(body) { $0.wait = nil }.hasSame(as: body))
  }
}

extension RequestProgress {
  /// - Parameter milliseconds: When something last passed.
  fileprivate init(
    _ wait: RequestWait?, _ status: Int? = nil, sent: Int64? = nil, received: Int64? = nil,
    at milliseconds: Int64? = nil
  ) {
    self.init(
      wait: wait, statusCode: status,
      lastActivity: milliseconds.map { Instant(nanoseconds: $0 * 1_000_000) })
    (requestBodySize, responseBodySize) = (sent, received)
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
