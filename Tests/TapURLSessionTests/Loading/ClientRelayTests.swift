import TestSupport

@testable import TapURLSession

/// What stands between a loader and Foundation's client, without Foundation.
@Suite struct ClientRelayTests {
  /// In place of Foundation's: writes down what it is told.
  private final class Client: NSObject, URLProtocolClient {
    private let all = Mutex<[String]>([])
    /// How many requests have ended when it is told of an end.
    private let ended: @Sendable () -> Int

    init(ended: @escaping @Sendable () -> Int) { self.ended = ended }

    var calls: [String] { all.withLock { $0 } }

    private func note(_ call: String) { all.withLock { $0.append(call) } }

    func urlProtocol(
      _ sender: URLProtocol, didReceive response: URLResponse,
      cacheStoragePolicy policy: URLCache.StoragePolicy
    ) { note("response") }

    func urlProtocol(_ sender: URLProtocol, didLoad data: Data) { note("data \(data.count)") }

    func urlProtocolDidFinishLoading(_ sender: URLProtocol) { note("finish of \(ended())") }

    func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
      note("failure of \(ended())")
    }

    func urlProtocol(
      _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
    ) { note("redirect") }

    func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
      note("cache")
    }

    func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
      note("challenge")
    }

    func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
      note("no challenge")
    }
  }

  private final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
  }

  /// Answers nothing, and fails when it is stopped if a test says so.
  private final class SilentProtocol: MockProtocol {
    private(set) var stops = 0
    var failsAtStop = false

    override func startLoading() {}

    override func stopLoading() {
      stops += 1
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
    let url = try #require(URL(string: "http://mock.test/"))
    request = URLRequest(url: url)
    response = try #require(
      HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: [:]))
  }

  private func relay(in context: TapContext? = nil) -> ClientRelay {
    let context = context ?? TapContext(clients: [TapContext.Client(tap: tap, name: "test")], loaders: [])
    return ClientRelay(to: client, TaskRequest(request), in: nil, context: context)
  }

  private func session() -> URLSession {
    let configuration = with(URLSessionConfiguration.ephemeral) { $0.httpMaximumConnectionsPerHost = 1 }
    return URLSession(configuration: configuration)
  }

  /// An end has been recorded when Foundation learns of it.
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
    #expect(observer.ended.map(\.end) == [.response(statusCode: 203)])
    #expect(observer.ended.map(\.responseBodySize) == [5] && observer.ended.map(\.isFromCache) == [true])
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

  @Test func `a cancel is recorded, and stops an app's own loader, which may still report`() {
    let relay = relay()
    let loader = SilentProtocol(request: request, cachedResponse: nil, client: relay)
    loader.failsAtStop = true
    relay.start(loader)
    relay.cancel(loader)
    #expect(loader.stops == 1 && client.calls == ["failure of 1"])
    #expect(observer.ended.map(\.end) == [.cancelled])
  }

  @Test func `a suspension stops an app's own loader, and ends nothing`() {
    let relay = relay()
    let loader = SilentProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    relay.suspend(loader)
    #expect(loader.stops == 1 && relay.progress.progress.wait == nil)
    relay.start(loader)
    #expect(relay.progress.progress.wait == .response)
    tap.flush()
    #expect(observer.started.count == 1 && observer.ended.isEmpty)
    withExtendedLifetime(relay) {}
  }

  /// Foundation's client ends the process if it is told of a second end.
  @Test func `a protocol has no client any more when its loader has reported the end`() throws {
    let configuration = tap.sessionConfiguration(from: .ephemeral(with: MockProtocol.self), client: "test")
    let metricsClass = try #require(configuration.protocolClasses?.first as? URLProtocol.Type)
    let session = session()
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: request)
    let whole = metricsClass.init(task: task, cachedResponse: nil, client: client)
    #expect((whole.client as? Client) === client)
    whole.startLoading()
    #expect(whole.client == nil)
    #expect(client.calls == ["response", "data \(MockProtocol.body.count)", "finish of 1"])
  }

  /// Of the one test that cannot get at its loader.
  private final class CountedProtocol: MockProtocol {
    static let stops = Atomic<Int>(0)

    override func startLoading() {}

    override func stopLoading() { Self.stops.add(1, ordering: .relaxed) }
  }

  /// As where the task runs again before its suspension has come to the loader.
  @Test func `a stop is passed on, whether the task is suspended or runs`() throws {
    let configuration = URLSessionConfiguration.ephemeral(with: CountedProtocol.self)
    let tapped = tap.sessionConfiguration(from: configuration, client: "test")
    let metricsClass = try #require(tapped.protocolClasses?.first as? URLProtocol.Type)
    let session = URLSession(configuration: configuration)
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: request)
    let whole = metricsClass.init(task: task, cachedResponse: nil, client: client)
    whole.startLoading()
    whole.stopLoading()
    #expect(CountedProtocol.stops.load(ordering: .relaxed) == 1)
    #expect(tap.recorder.activeRequests().map(\.wait) == [nil])
    task.resume()
    try #require(task.state == .running)
    whole.stopLoading()
    #expect(CountedProtocol.stops.load(ordering: .relaxed) == 2)
    #expect(client.calls.isEmpty)
    tap.flush()
    #expect(observer.ended.isEmpty)
    withExtendedLifetime(whole) {}
  }

  @Test func `each tap hears of a witness that is not believed any more`() {
    let names = Watched<[String]>([])
    let taps = ["one", "other"].map { name in
      let configuration = with(URLSessionTap.Configuration()) {
        $0.reportDisbelief = { text in names.change { $0.append("\(name): \(text)") } }
      }
      return URLSessionTap(observers: [], configuration: configuration)
    }
    let clients = taps.map { TapContext.Client(tap: $0, name: "test") }
    relay(in: TapContext(clients: clients, loaders: [])).report("why")
    #expect(names.state == ["one: why", "other: why"])
  }

  /// After a fiftieth of the time that has passed: much later, the request would be as much longer.
  @Test func `the end of a task with a challenge is soon seen`() async throws {
    let (relay, session) = (relay(), session())
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: request)
    relay.start(MockProtocol(request: request, cachedResponse: nil, client: relay))
    let start = Instant(nanoseconds: Instant.now.nanoseconds - 5_000_000_000)
    relay.watch(task, since: start)
    task.cancel()
    try await Poll.until(seconds: 60, "the end") { !observer.ended.isEmpty }
    #expect(observer.ended.map(\.end) == [.cancelled])
  }

  /// Its tap has stopped when its loader is made.
  @Test func `a challenged task that nobody records takes no other's connection`() throws {
    let context = TapContext(clients: [TapContext.Client(tap: tap, name: "test")], loaders: [])
    tap.stop()
    let (relay, session) = (relay(in: context), session())
    defer { session.invalidateAndCancel() }
    #expect(relay.requests.isEmpty)
    let task = session.dataTask(with: request)
    let loaderClass = try #require(TapContext.nativeHTTP)
    relay.start(loaderClass.init(task: task, cachedResponse: nil, client: relay))
    let now = Instant.now
    context.count.enter(limit: 1, at: now)
    #expect(!context.count.leave(at: now, since: now))
    relay.watch(task)
    let later = Instant(nanoseconds: now.nanoseconds + 1)
    context.count.enter(limit: 1, at: later)
    #expect(context.count.leave(at: later, since: later))
    withExtendedLifetime(relay) {}
  }
}
