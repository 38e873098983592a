import TestSupport

@testable import TapURLSession

/// Several taps on one configuration. That each observes each request once, in whatever order and how often
/// they patch, `RandomProgramTests` of `SessionTapTests` prove.
struct SeveralTapsTests {
  private let observers = [RecordingObserver(), RecordingObserver(), RecordingObserver()]
  private let taps: [URLSessionTap]

  init() { taps = observers.map { URLSessionTap(observers: [$0]) } }

  /// The names under which each tap has recorded its requests.
  private var clients: [[String]] {
    zip(taps, observers).map { tap, observer in
      tap.flush()
      return observer.ended.map(\.request.client)
    }
  }

  @Test func `a configuration with the classes of two patched ones is observed once by each`() async throws {
    let origin = try Origin { _ in [.response()] }
    let first = taps[0].sessionConfiguration(from: .ephemeral, client: "first")
    let second = taps[1].sessionConfiguration(from: .ephemeral, client: "second")
    // One class for both.
    let both = taps[1].sessionConfiguration(from: first, client: "second")
    #expect(FactoryTests.names(both).count == FactoryTests.names(first).count)
    let again = taps[0].sessionConfiguration(from: .ephemeral, client: "again")
    first.protocolClasses = [first, second, again].flatMap { $0.protocolClasses ?? [] }
    let merged = taps[2].sessionConfiguration(from: first, client: "third")
    let session = URLSession(configuration: merged)
    _ = try await session.data(from: origin.url())
    // One that Foundation refuses without a loader, too.
    _ = try? await session.data(from: #require(URL(string: "HTTP://host.test/")))
    session.finishTasksAndInvalidate()
    #expect(clients == [["first", "first"], ["second", "second"], ["third", "third"]])
  }

  @Test func `each tap has its own filter, and headers if it asks for them`() async throws {
    let options = with(RequestConfiguration()) { $0.filter = { $0.path.hasPrefix("/chosen") } }
    let curious = with(URLSessionTap.Configuration()) { $0.collectsHeaders = true }
    let choosy = URLSessionTap(observers: [observers[0]], options: options, configuration: curious)
    let origin = try Origin { _ in [.response(headers: [("X-Answer", "b")])] }
    let session = taps[1].session(
      client: "all", choosy.sessionConfiguration(from: .ephemeral, client: "choosy"))
    // Also where libcurl has been right often enough, and Foundation's response need not be compared.
    for path in (0..<20).flatMap({ _ in ["/chosen", "/other"] }) {
      let request = with(URLRequest(url: origin.url(path))) {
        $0.setValue("a", forHTTPHeaderField: "X-Question")
      }
      _ = try await session.data(for: request)
    }
    session.finishTasksAndInvalidate()
    for tap in [choosy, taps[1]] { tap.flush() }
    let seen = observers.map { observer in
      observer.ended.map { [$0.request.headers["X-Question"], $0.responseHeaders["X-Answer"]] }
    }
    let chosen = Array(repeating: ["a", "b"] as [String?], count: 20)
    let all = Array(repeating: [nil, nil] as [String?], count: 40)
    expectEqual(seen, [chosen, all, []])
  }

  @Test func `what is read of transfers is what each tap of them reads`() {
    let configuration = with(URLSessionTap.Configuration()) { $0.curl = nil }
    let blind = URLSessionTap(observers: [], configuration: configuration)
    let reads = [taps, [taps[0], blind], [blind, taps[0]]].map { TapContext.of($0).curl != nil }
    #expect(reads == [true, false, false])
  }

  /// Of a session that has made tasks, some may be active.
  @Test func `a session with older tasks shares no class with one that has none`() throws {
    let sessions = (0..<2).map { _ in URLSession(configuration: .ephemeral) }
    defer { for session in sessions { session.invalidateAndCancel() } }
    _ = sessions[1].dataTask(with: try #require(URL(string: "http://host.test/")))
    let contexts = try sessions.map { session -> TapContext in
      #expect(taps[0].install(on: session, client: "same"))
      let metricsClass: AnyClass = try #require(session.configuration.protocolClasses?.first)
      return try #require(ProtocolClasses.context(of: metricsClass))
    }
    expectEqual(contexts.map(\.seesAllRequests), [true, false])
  }

  /// As when a tap stops while another one patches a configuration of its.
  @Test func `a class that is made when a tap has stopped does not stand for it`() throws {
    let context = TapContext.of(taps)
    taps[0].stop()
    let made = try #require(ProtocolClasses.context(of: ProtocolClasses.metricsClass(for: context)))
    expectEqual(made.clients.map { ObjectIdentifier($0.tap) }, taps.dropFirst().map { ObjectIdentifier($0) })
  }

  /// It may hold a connection for longer than one of the taps lives.
  @Test func `the others still know of a request that was left out before`() throws {
    let (unused, used) = (TapContext.of(taps), TapContext.of(taps))
    let socket = URLRequest(url: try #require(URL(string: "ws://other.test/")))
    #expect(used.accept(socket, in: nil) == nil)
    expectEqual([unused, used].map { $0.without(taps[0]).seesAllRequests }, [true, false])
    // And transfers that began before hold connections.
    #expect(used.without(taps[0]).count === used.count)
  }

  /// A session may hold such a class for as long as it lives, so no later tap gets it.
  @Test func `of taps that have stopped no more is left than a class for each`() {
    let classes = (0..<3).compactMap { number in
      let tap = URLSessionTap(observers: [])
      defer { tap.stop() }
      return tap.sessionConfiguration(from: .ephemeral, client: "short \(number)").protocolClasses?.first
    }
    let contexts = classes.compactMap { ProtocolClasses.context(of: $0) }
    expectEqual(Set(classes.map { ObjectIdentifier($0) }).count, 3)
    #expect(contexts.count == 3 && Set(contexts.map { ObjectIdentifier($0) }).count == 1)
    #expect(contexts.allSatisfy { $0.clients.isEmpty })
  }

  @Test func `a tap that has stopped is released, though its sessions are not`() {
    let session: URLSession
    weak var released: URLSessionTap?
    do {
      let (tap, other) = (URLSessionTap(observers: []), URLSessionTap(observers: []))
      session = tap.session(client: "short")
      released = tap
      _ = other.sessionConfiguration(client: "other")
      // The table still knows the class of the one that goes on.
      other.stop()
      tap.stop()
    }
    #expect(released == nil)
    session.invalidateAndCancel()
  }
}
