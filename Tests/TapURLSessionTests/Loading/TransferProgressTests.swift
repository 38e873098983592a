import TestSupport

@testable import TapURLSession

/// What is known of requests that hang, against a server that a test controls.
struct TransferProgressTests {
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

  enum Hang: String, CaseIterable, Sendable {
    case queue, connect, tls, upload, response, post, body
    /// A redirect that was followed, and is not answered: not at all, or by a choice that is no redirect.
    case redirected, choice

    /// Of the head that has come.
    var status: Int? { self == .body ? 200 : self == .choice ? 300 : nil }
    var wait: String {
      [.post, .redirected].contains(self) ? "response" : status.map { _ in "body" } ?? rawValue
    }
  }

  /// A server that does nothing at some point of a request, and what a test is told of it.
  private struct Silence {
    let asked = Gate()
    let over = Gate()
    let origin: Origin
    let deaf: DeafPort?
    let url: URL

    init(_ hang: Hang) throws {
      let steps: [OriginStep] =
        hang.status.map { [.text("HTTP/1.1 \($0) X\r\nContent-Length: 9\r\n\r\nhello")] } ?? []
      let isUnread = [.tls, .upload].contains(hang)
      origin = try Origin(greeting: isUnread ? [.signal(asked), .hold(over)] : []) { [asked, over] request in
        let isMoved = [.redirected, .choice].contains(hang) && request.path != "/end"
        return isMoved ? [.redirect(to: "/end")] : steps + [.signal(asked), .hold(over)]
      }
      deaf = hang == .connect ? try DeafPort() : nil
      if hang == .connect { asked.open() }
      let scheme = hang == .tls ? "https" : "http"
      url = try #require(URL(string: "\(scheme)://127.0.0.1:\(deaf?.port ?? origin.port)/\(hang)"))
    }
  }

  @Test(arguments: Hang.allCases, [false, true])
  func `a request waits for what the server has not done`(hang: Hang, hasDelegate: Bool) async throws {
    let server = try Silence(hang)
    defer { server.over.open() }
    let session = AskedProtocol.session(
      hasDelegate ? TranscriptDelegate(.init(), uploadBody: []) : nil, limit: hang == .queue ? 1 : 6)
    let first = session.dataTask(with: server.origin.url("/first"))
    if hang == .queue {
      first.resume()
      try await server.asked.wait("the first request")
    }
    let request = with(URLRequest(url: server.url)) {
      $0.httpMethod = [.upload, .post].contains(hang) ? "POST" : "GET"
    }
    let size: Int64 = hang == .upload ? 16_000_000 : hang == .post ? 3 : 0
    let resumed = Instant.now
    let task =
      size > 0
      ? session.uploadTask(with: request, from: Data(count: Int(size))) : session.dataTask(with: request)
    task.resume()
    try await server.asked.wait("the request")
    var looks: Set<Instant> = []
    let known = try await progress(of: server.url, "the wait") {
      if let seen = $0.seen { looks.insert(seen) }
      return $0.wait?.rawValue == hang.wait && (hang.status == nil || $0.responseBodySize == 5)
    }
    #expect(known.statusCode == hang.status)
    #expect(known.responseBodySize ?? 0 == (hang.status == nil ? 0 : 5))
    switch hang {
    case .queue, .connect, .tls:
      // Two looks may see that nothing passes. One does not.
      #expect(known.requestBodySize == nil && known.lastActivity == nil)
      #expect(looks.count > 1 || known.quietSince == nil)
    // More than the kernel takes of it.
    case .upload: #expect((1..<size).contains(known.requestBodySize ?? 0))
    default:
      #expect(known.requestBodySize == size)
      // Nothing passes, however often that is asked, and the kernel knows since when.
      let seen = Instant.now
      let later = try await progress(of: server.url, "further looks") {
        seen.duration(to: .now) > .seconds(2) && ($0.lastActivity ?? $0.quietSince) != nil
      }
      if let last = later.lastActivity { #expect(resumed <= last) }
      // Where TCP has sent a part again, the second of two looks knows a part, if the first was an early one.
      let quiet = try #require(later.lastActivity ?? later.quietSince)
      #expect(quiet <= seen.advanced(by: .nanoseconds(TransferLook.validity)))
    }
    let observation = try await cancel(task, of: server.url)
    if hang == .upload {
      #expect(observation.cutOffPhase == .upload && (1..<size).contains(observation.requestBodySize ?? 0))
    }
    first.cancel()
  }

  /// Of what passed before the first look, the kernel alone knows when.
  @Test func `a first look sees how long nothing has passed, or does not say it`() async throws {
    let (early, more, sent, over) = (Gate(), Gate(), Gate(), Gate())
    let origin = try Origin { _ in
      [.torn, .think(300), .signal(early), .hold(more), .text("more"), .signal(sent), .hold(over)]
    }
    defer { over.open() }
    let url = origin.url("/first-look")
    let task = AskedProtocol.session(nil).dataTask(with: url)
    task.resume()
    try await early.wait("an early piece")
    // The first piece was sent 300 ms before. The kernel's clock lags where the machine is busy.
    let before = Instant(nanoseconds: Instant.now.nanoseconds - 100_000_000)
    more.open()
    try await sent.wait("a piece")
    let known = try await progress(of: url, "a look") { $0.wait != nil }
    #expect((known.lastActivity != nil) == TCPInfo.isUsed)
    if let last = known.lastActivity { #expect(before <= last) }
    _ = try await cancel(task, of: url)
  }

  /// What libcurl says of a server's transfers is doubted.
  @Test func `a look at a server that is doubted sees nothing`() async throws {
    let server = try Silence(.response)
    defer { server.over.open() }
    for _ in 0..<3 { _ = Doubts.ofLibcurl.noteContradiction(of: "127.0.0.1:\(server.origin.port)", at: .now) }
    let task = AskedProtocol.session(nil).dataTask(with: server.url)
    task.resume()
    try await server.asked.wait("the request")
    try await expectEqual(progress(of: server.url, "a look") { _ in true }, RequestProgress())
    _ = try await cancel(task, of: server.url)
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
    let delegate = TranscriptDelegate(.init(credential: credential, answers: isAnswered), uploadBody: [])
    let task = AskedProtocol.session(delegate).dataTask(with: origin.url())
    task.resume()
    try await delegate.challenged.wait("the challenge")
    let asked = Instant.now
    if isAnswered {
      try await Poll.until("the second request") { origin.requests.count == 2 }
      // What Foundation's second loader waits for is not known.
      _ = try await progress(of: origin.url(), "the answer") { $0.wait == nil }
    } else {
      _ = try await progress(of: origin.url(), "the question") { $0.wait == .credentials }
    }
    let open = asked.duration(to: .now)
    let observation = try await cancel(task, of: origin.url())
    // The time in which nobody answers is in no phase.
    #expect(.nanoseconds(observation.phaseSum) <= observation.duration - open)
    #expect((observation.phaseSum > 0) == !isAnswered && observation.cutOffPhase == nil)
  }

  /// When the request times out meanwhile, Foundation tells nobody, and waits on.
  @Test func `a redirect that the app does not answer`() async throws {
    let origin = try Origin { _ in [.redirect(to: "/end")] }
    let session = AskedProtocol.session(TranscriptDelegate(.init(answers: false), uploadBody: []))
    let task = session.dataTask(with: with(URLRequest(url: origin.url())) { $0.timeoutInterval = 1 })
    task.resume()
    for what in ["the question", "the question after the time-out"] {
      let known = try await progress(of: origin.url(), what) { $0.wait == .redirect }
      #expect(known.statusCode == 302)
      try await Poll.until("the time-out") { task.response != nil }
    }
    let timedOut = Instant.now
    _ = try await progress(of: origin.url(), "a look after the time-out") {
      $0.seen.map { timedOut < $0 } == true && $0.wait == .redirect
    }
    // The app has cut it off, in none of the server's phases.
    #expect(try await cancel(task, of: origin.url()).cutOffPhase == nil)
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
    expectEqual(known, steps.map(\.known))
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
    let found = TransferLook(at: Self.instant(1_000), found: RequestProgress())
    func looks(_ at: Int64, _ phase: TransferProgress.Phase, after look: TransferLook?) -> Bool {
      var state = State(phase: phase, relay: TransferInfo.Relay())
      state.native = TransferProgress.Native(queue: .global(), look: look)
      let looks = state.beginLook(at: Self.instant(at))
      let again = state.beginLook(at: Self.instant(at + 9_000))
      #expect(!again || !looks)
      return looks
    }
    expectEqual([1_999, 2_000].map { looks($0, .loading, after: found) }, [false, true])
    let phases: [TransferProgress.Phase] = [.made, .loading, .suspended, .challenged, .replaced, .done]
    expectEqual(phases.map { looks(1, $0, after: nil) }, [false, true, true, false, false, false])
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
      let look = found.map { TransferLook(at: Self.instant(1_000), found: $0) }
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
    expectEqual(known(body, headSeen), with(body) { $0.statusCode = 200 })
    #expect(known(silent, headSeen) == RequestProgress(.body, 200, sent: 0, received: 0))
    #expect(known(nil, headSeen) == RequestProgress(.body, 200))
    let asking = with(body) { $0.wait = .redirect }
    #expect(known(asking, headSeen).wait == .redirect)
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

  static func session(_ delegate: (any URLSessionDelegate)?, limit: Int = 6) -> URLSession {
    let configuration = with(URLSessionConfiguration.ephemeral(with: self)) {
      $0.httpMaximumConnectionsPerHost = limit
    }
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
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
    relay = original.map { ClientRelay(to: $0, request, in: nil, context: Self.context) }
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

/// A loopback port that takes no further connection for as long as this object lives: the system drops the
/// first packet of each, since the queue of the listener is full.
private final class DeafPort: Sendable {
  /// The port that the system chose.
  let port: Int
  private let descriptors: [Int32]

  init() throws {
    let (listener, port) = try LoopbackSocket.bind(listens: true)
    // The least queue, which holds one connection.
    guard listen(listener, 0) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    (self.port, descriptors) = (port, [listener] + (0..<4).map { _ in LoopbackSocket.connect(to: port) })
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
