import TestSupport

@testable import TapURLSession

/// What stands between a loader and Foundation's client, without Foundation.
struct ClientRelayTests {
  /// In place of Foundation's: writes down what it is told.
  private final class Client: NSObject, URLProtocolClient {
    private let all = Mutex<[String]>([])
    /// How many requests have ended when it is told of an end.
    private let ended: @Sendable () -> Int

    init(ended: @escaping @Sendable () -> Int) { self.ended = ended }

    var calls: [String] { all.withLock { $0 } }

    private func note(_ call: String) { all.withLock { $0.append(call) } }

    func urlProtocol(
      _: URLProtocol, didReceive _: URLResponse, cacheStoragePolicy _: URLCache.StoragePolicy
    ) { note("response") }
    func urlProtocol(_: URLProtocol, didLoad data: Data) { note("data \(data.count)") }
    func urlProtocolDidFinishLoading(_: URLProtocol) { note("finish of \(ended())") }
    func urlProtocol(_: URLProtocol, didFailWithError _: any Error) { note("failure of \(ended())") }
    func urlProtocol(_: URLProtocol, wasRedirectedTo _: URLRequest, redirectResponse _: URLResponse) {
      note("redirect")
    }
    func urlProtocol(_: URLProtocol, cachedResponseIsValid _: CachedURLResponse) { note("cache") }
    func urlProtocol(_: URLProtocol, didReceive _: URLAuthenticationChallenge) { note("challenge") }
    func urlProtocol(_: URLProtocol, didCancel _: URLAuthenticationChallenge) { note("no challenge") }
  }

  private final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
    func use(_: URLCredential, for _: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for _: URLAuthenticationChallenge) {}
    func cancel(_: URLAuthenticationChallenge) {}
    func performDefaultHandling(for _: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with _: URLAuthenticationChallenge) {}
  }

  /// Answers nothing, and fails when it is stopped if a test says so.
  private final class SilentProtocol: MockProtocol {
    /// How often a request was stopped.
    static let stops = Mutex<[URL: Int]>([:])
    var failsAtStop = false

    override func startLoading() {}

    override func stopLoading() {
      if let url = request.url { Self.stops.withLock { $0[url, default: 0] += 1 } }
      if failsAtStop { client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost)) }
    }
  }

  private let tap: URLSessionTap
  private let observer: RecordingObserver
  private let client: Client
  private let request: URLRequest
  private let response: HTTPURLResponse

  init() throws {
    let (tap, observer) = URLSessionTap.observed()
    (self.tap, self.observer) = (tap, observer)
    client = Client {
      tap.flush()
      return observer.ended.count
    }
    let url = try #require(URL(string: "http://mock.test/\(UUID())"))
    request = URLRequest(url: url)
    response = try #require(
      HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: [:]))
  }

  private func relay(in context: TapContext? = nil) -> ClientRelay {
    ClientRelay(to: client, request, in: nil, context: context ?? .of([tap]))
  }

  private var stops: Int {
    SilentProtocol.stops.withLock { $0[request.url ?? URL(fileURLWithPath: "")] ?? 0 }
  }

  /// A task of a session with one connection, which is not resumed. If a test does, it reaches no network.
  private func withTask(_ body: (URLSessionTask) async throws -> Void) async rethrows {
    let base = with(URLSessionConfiguration.ephemeral(with: SilentProtocol.self)) {
      $0.httpMaximumConnectionsPerHost = 1
    }
    let session = URLSession(configuration: base)
    defer { session.invalidateAndCancel() }
    try await body(session.dataTask(with: request))
  }

  /// A tapped protocol of a task, before a loader of the app's own.
  private func tapped(_ task: URLSessionTask, before loader: AnyClass) throws -> URLProtocol {
    let configuration = tap.sessionConfiguration(from: .ephemeral(with: loader), client: "test")
    let metricsClass = try #require(configuration.protocolClasses?.first as? URLProtocol.Type)
    return metricsClass.init(task: task, cachedResponse: nil, client: client)
  }

  /// Whether a transfer of that session would have a connection now.
  private static func hasRoom(_ context: TapContext) -> Bool {
    let now = Instant.now
    context.count.enter(limit: 1, at: now)
    return context.count.leave(at: now, since: now)
  }

  /// An end has been recorded when Foundation learns of it. Foundation's native loader reports more when its
  /// task is cancelled at that moment, and Foundation's client ends the process if it hears of it.
  @Test func `what a loader tells goes on to Foundation and counts, up to its end`() {
    let relay = relay()
    let space = URLProtectionSpace(
      host: "mock.test", port: 80, protocol: "http", realm: nil, authenticationMethod: nil)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
      error: nil, sender: ChallengeSender())
    let loader = MockProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    for _ in 0..<2 {
      relay.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
      relay.urlProtocol(loader, didReceive: challenge)
      relay.urlProtocol(loader, didCancel: challenge)
      let cached = CachedURLResponse(response: response, data: Data())
      relay.urlProtocol(loader, cachedResponseIsValid: cached)
      relay.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
      for size in [2, 3] { relay.urlProtocol(loader, didLoad: Data(count: size)) }
      relay.urlProtocolDidFinishLoading(loader)
    }
    relay.urlProtocol(loader, didFailWithError: URLError(.cancelled))
    #expect(
      client.calls == [
        "redirect", "challenge", "no challenge", "cache", "response", "data 2", "data 3", "finish of 1",
      ])
    tap.flush()
    expectEqual(observer.ended.map(\.end), [.response(statusCode: 203)])
    #expect(observer.ended.map(\.responseBodySize) == [5] && observer.ended.map(\.isFromCache) == [true])
  }

  @Test func `what a loader tells after a failure is dropped, and the request has ended once`() {
    let relay = relay()
    let loader = MockProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    for code in [URLError.Code.networkConnectionLost, .cancelled] {
      relay.urlProtocol(loader, didFailWithError: URLError(code))
      relay.urlProtocol(loader, didLoad: Data([1]))
      relay.urlProtocolDidFinishLoading(loader)
    }
    tap.flush()
    #expect(client.calls == ["failure of 1"])
    expectEqual(observer.ended.map(\.end), [.failure(.connectionLost, statusCode: nil)])
  }

  @Test func `how far an app's own loader has come is known by what it tells`() throws {
    let relay = relay()
    let loader = MockProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    #expect(relay.progress.progress.wait == .response)
    let before = Instant.now
    relay.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
    for size in [2, 3] { relay.urlProtocol(loader, didLoad: Data(count: size)) }
    let known = relay.progress.progress
    #expect(known.wait == .body && known.statusCode == 203 && known.responseBodySize == 5)
    #expect((before...Instant.now).contains(try #require(known.lastActivity)))
    // There is nothing to look at: whoever asks for more waits for nothing.
    let isLookedAt = Gate()
    relay.progress.look { isLookedAt.open() }
    #expect(isLookedAt.isOpen)
    let snapshot = tap.recorder.activeRequests()
    #expect(snapshot.map(\.wait) == [.body] && snapshot.map(\.responseBodySize) == [5])
    withExtendedLifetime(relay) {}
  }

  @Test func `a suspension and a cancel stop an app's own loader, which may still report`() {
    let relay = relay()
    let loader = SilentProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    relay.suspend(loader)
    #expect(stops == 1 && relay.progress.progress.wait == nil)
    relay.start(loader)
    #expect(relay.progress.progress.wait == .response)
    tap.flush()
    #expect(observer.started.count == 1 && observer.ended.isEmpty)
    loader.failsAtStop = true
    relay.cancel(loader)
    #expect(stops == 2 && client.calls == ["failure of 1"])
    expectEqual(observer.ended.map(\.end), [.cancelled])
  }

  /// Foundation's client ends the process if it is told of a second end.
  @Test func `a protocol has no client any more when its loader has reported the end`() async throws {
    try await withTask { task in
      let whole = try tapped(task, before: MockProtocol.self)
      #expect((whole.client as? Client) === client)
      whole.startLoading()
      #expect(whole.client == nil)
      #expect(client.calls == ["response", "data \(MockProtocol.body.count)", "finish of 1"])
    }
  }

  /// As where the task runs again before its suspension has come to the loader.
  @Test func `a stop is passed on, whether the task is suspended or runs`() async throws {
    try await withTask { task in
      let whole = try tapped(task, before: SilentProtocol.self)
      whole.startLoading()
      whole.stopLoading()
      #expect(stops == 1 && tap.recorder.activeRequests().map(\.wait) == [nil])
      task.resume()
      try #require(task.state == .running)
      whole.stopLoading()
      tap.flush()
      #expect(stops == 2 && client.calls.isEmpty && observer.ended.isEmpty)
      withExtendedLifetime(whole) {}
    }
  }

  @Test func `each tap hears of a witness that is not believed any more`() {
    let names = Watched<[String]>([])
    let taps = ["one", "other"].map { name in
      let configuration = with(URLSessionTap.Configuration()) {
        $0.reportDisbelief = { text in names.change { $0.append("\(name): \(text)") } }
      }
      return URLSessionTap(observers: [], configuration: configuration)
    }
    relay(in: .of(taps)).report("why")
    #expect(names.state == ["one: why", "other: why"])
  }

  /// After a fiftieth of the time that has passed: much later, the request would be as much longer.
  @Test func `the end of a task with a challenge is soon seen`() async throws {
    try await withTask { task in
      let relay = relay()
      relay.start(MockProtocol(request: request, cachedResponse: nil, client: relay))
      relay.watch(task, since: Instant(nanoseconds: Instant.now.nanoseconds - 5_000_000_000))
      task.cancel()
      try await observer.waitForEnds(1)
      expectEqual(observer.ended.map(\.end), [.cancelled])
    }
  }

  /// Its task goes away without an end: it is cancelled, and takes the connection of no other.
  @Test func `a transfer has a connection until it is abandoned`() async throws {
    try await withTask { task in
      let context = TapContext.of([tap])
      do {
        let relay = relay(in: context)
        let loader = try #require(TapContext.nativeHTTP).init(task: task, cachedResponse: nil, client: relay)
        // Again, as when an app resumes a task that runs: it counts once.
        for _ in 0..<2 { relay.start(loader) }
        #expect(!Self.hasRoom(context))
        // As its protocol does when it goes away with the task.
        relay.leaveTask()
      }
      #expect(Self.hasRoom(context))
      tap.flush()
      expectEqual(observer.ended.map(\.end), [.cancelled])
    }
  }

  /// Its tap has stopped when its loader is made.
  @Test func `a challenged task that nobody records takes no other's connection`() async throws {
    let context = TapContext.of([tap])
    tap.stop()
    try await withTask { task in
      let relay = relay(in: context)
      #expect(relay.requests.first == nil)
      relay.start(try #require(TapContext.nativeHTTP).init(task: task, cachedResponse: nil, client: relay))
      #expect(!Self.hasRoom(context))
      relay.watch(task)
      #expect(Self.hasRoom(context))
      withExtendedLifetime(relay) {}
    }
  }
}
