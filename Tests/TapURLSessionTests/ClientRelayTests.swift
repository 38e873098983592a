import TestSupport

@testable import TapURLSession

/// What stands between a loader and Foundation's client, without Foundation.
@Suite struct ClientRelayTests {
  /// In place of Foundation's: writes down what it is told.
  private final class Client: NSObject, URLProtocolClient {
    private let all = Mutex<[String]>([])

    var calls: [String] { all.withLock { $0 } }

    private func note(_ call: String) { all.withLock { $0.append(call) } }

    func urlProtocol(
      _ sender: URLProtocol, didReceive response: URLResponse,
      cacheStoragePolicy policy: URLCache.StoragePolicy
    ) { note("response") }

    func urlProtocol(_ sender: URLProtocol, didLoad data: Data) { note("data \(data.count)") }

    func urlProtocolDidFinishLoading(_ sender: URLProtocol) { note("finish") }

    func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) { note("failure") }

    func urlProtocol(
      _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
    ) { note("redirect") }

    func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
      note("cache")
    }

    func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {}

    func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {}
  }

  private var (tap, observer) = URLSessionTap.observed()
  private let client = Client()
  private let request: URLRequest
  private let response: HTTPURLResponse

  init() throws {
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

  @Test func `what a loader tells goes on to Foundation and counts, up to its end`() {
    let relay = relay()
    let loader = MockProtocol(request: request, cachedResponse: nil, client: relay)
    relay.start(loader)
    for _ in 0..<2 {
      relay.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
      let cached = CachedURLResponse(response: response, data: Data())
      relay.urlProtocol(loader, cachedResponseIsValid: cached)
      relay.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
      for size in [2, 3] { relay.urlProtocol(loader, didLoad: Data(count: size)) }
      relay.urlProtocolDidFinishLoading(loader)
    }
    relay.urlProtocol(loader, didFailWithError: URLError(.cancelled))
    #expect(client.calls == ["redirect", "cache", "response", "data 2", "data 3", "finish"])
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
  }

  /// After a fiftieth of the time that has passed: much later, the request would be as much longer.
  @Test func `the end of a task with a challenge is soon seen`() async throws {
    let (relay, session) = (relay(), session())
    defer { session.invalidateAndCancel() }
    let task = session.dataTask(with: request)
    relay.start(MockProtocol(request: request, cachedResponse: nil, client: relay))
    let start = Instant(nanoseconds: Instant.now.nanoseconds - 5_000_000_000)
    ChallengedTaskWatch.begin(task, of: relay, since: start)
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
    ChallengedTaskWatch.begin(task, of: relay)
    let later = Instant(nanoseconds: now.nanoseconds + 1)
    context.count.enter(limit: 1, at: later)
    #expect(context.count.leave(at: later, since: later))
    withExtendedLifetime(relay) {}
  }
}
