import TestSupport

@testable import TapURLSession

/// How the socket of a finished transfer is found.
@Suite struct ConnectionsTests {
  private let observer = RecordingObserver()
  private let tap: URLSessionTap
  private let unknown: Registry.Counter

  init() throws {
    var configuration = URLSessionTap.Configuration()
    unknown = try Registry().counter("unknown_total", help: "Unknown connections.")
    configuration.unknownConnections = unknown
    tap = URLSessionTap(observers: [observer], configuration: configuration)
  }

  enum Ending: String, CaseIterable, Sendable { case kept, closed, torn, timeout, cancel }

  @Test(arguments: Kind.allCases, TappedSession.allCases)
  func `the socket of a first response is found`(kind: Kind, session: TappedSession) async throws {
    for ending in [Ending.kept, .closed] { try await expectRoundTrip(of: kind, ending, session) }
  }

  @Test(arguments: [Ending.torn, .timeout, .cancel], TappedSession.allCases)
  func `the socket of a cut request is found`(ending: Ending, session: TappedSession) async throws {
    try await expectRoundTrip(of: .data, ending, session)
  }

  private func expectRoundTrip(of kind: Kind, _ ending: Ending, _ session: TappedSession) async throws {
    let (isDue, over) = (Gate(), Gate())
    let origin = try Origin { _ in
      switch ending {
      case .kept: [.response(body: [1])]
      case .closed: [.response(headers: [("Connection", "close")], body: [1]), .close]
      case .torn: [.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1"), .think(20), .close]
      case .timeout, .cancel: [.signal(isDue), .hold(over)]
      }
    }
    defer { over.open() }
    var request = URLRequest(url: origin.url())
    if kind.sendsBody { request.httpMethod = "POST" }
    if ending == .timeout { request.timeoutInterval = 1 }
    var exchange = Exchange(kind: kind, style: .sessionDelegate, request: request)
    exchange.makeSession = session.make(tap)
    if ending == .cancel { (exchange.interruption, exchange.isDue, exchange.goOn) = (.cancel, isDue, over) }
    let ended = observer.ended.count
    _ = try await exchange.run(.ephemeral)
    try await observer.waitForEnds(ended + 1)
    let observation = try #require(observer.ended.last)
    #expect(observation.openedConnections == 1 && observation.roundTrip != nil, "\(observation)")
    #expect(unknown.value == 0)
  }

  /// By HTTP/2 Foundation keeps the socket while other streams use it.
  @Test(
    .serialized, .needs(.program), .usesFrontServer,
    arguments: [FrontServer.Way.tls, .tlsThatCloses, .http2, .ipv6])
  func `the socket of another way to a server is found`(way: FrontServer.Way) async throws {
    try await TrustedCertificate.prepare()
    try ExitValues.give("ConnectionsTests", way)
    await #expect(processExitsWith: .success) {
      let way = try ExitValues.take("ConnectionsTests", FrontServer.Way.self)
      alarm(100)
      let test = try ConnectionsTests()
      let origin = try Origin { _ in [.think(15), .response(body: [1])] }
      let front = try await FrontServer.start(before: origin)
      let session = URLSession(configuration: test.tap.sessionConfiguration(from: .ephemeral, client: "test"))
      session.keep()
      for _ in 0..<3 { _ = try await session.data(from: front.url(way, "/")) }
      try await test.expectRoundTrips(3, way)
      // At once on one connection, if it is HTTP/2: then it is known by its local port.
      await withTaskGroup { group in
        for _ in 0..<4 { group.addTask { _ = try? await session.data(from: front.url(way, "/")) } }
      }
      try await test.expectRoundTrips(7, way)
      try await front.stop()
    }
  }

  /// From 8.9 on libcurl may keep the socket of a TLS connection that it closes, until the server has said goodbye: then the connection is
  /// counted as unknown.
  private func expectRoundTrips(_ count: Int, _ way: FrontServer.Way) async throws {
    try await observer.waitForEnds(count)
    let missing = observer.ended.count { $0.roundTrip == nil }
    #expect(Double(missing) == unknown.value)
    if way != .tlsThatCloses || !Scenario.isCurl("8.9") {
      #expect(missing == 0, "\(observer.ended.map { ($0.roundTrip, $0.openedConnections, $0.elapsed) })")
    }
  }
}
