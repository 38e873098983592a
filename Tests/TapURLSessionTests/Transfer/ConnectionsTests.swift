import TestSupport

@testable import TapURLSession

/// How the socket of a finished transfer is found.
struct ConnectionsTests {
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

  @Test(arguments: Ending.allCases, TappedSession.allCases)
  func `the socket of a request is found, whole or cut`(ending: Ending, session: TappedSession) async throws {
    let isWhole = ending == .kept || ending == .closed
    for kind in isWhole ? Kind.allCases : [.data] { try await expectRoundTrip(of: kind, ending, session) }
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
    var call = AppCall(kind: kind, style: .sessionDelegate, request: request)
    call.makeSession = session.make(tap)
    if ending == .cancel { (call.interruption, call.isDue, call.goOn) = (.cancel, isDue, over) }
    let count = observer.ended.count
    _ = try await call.run(.ephemeral)
    let observation = try await observer.end(count + 1)
    #expect(observation.openedConnections == 1 && observation.networkRoundTrip != nil, "\(observation)")
    #expect(observation.retransmittedSegments != nil && unknown.value == 0)
  }

  /// By HTTP/2 Foundation keeps the socket while other streams use it.
  @Test(
    .serialized, .needs(.program), .usesFrontServer,
    arguments: Extent.isExtensive ? [FrontServer.Way.tls, .tlsThatCloses, .http2, .ipv6] : [.http2])
  func `the socket of another way to a server is found`(way: FrontServer.Way) async throws {
    try await TrustedCertificate.prepare()
    try ExitValues.give("ConnectionsTests", way)
    await #expect(processExitsWith: .success) {
      let way = try ExitValues.take("ConnectionsTests", FrontServer.Way.self)
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

  /// From 8.9 on libcurl may keep the socket of a TLS connection that it closes, until the server has said
  /// goodbye: then the connection is counted as unknown.
  private func expectRoundTrips(_ count: Int, _ way: FrontServer.Way) async throws {
    try await observer.waitForEnds(count)
    let missing = observer.ended.count { $0.networkRoundTrip == nil }
    #expect(Double(missing) == unknown.value)
    if way != .tlsThatCloses || !Scenario.isCurl("8.9") {
      #expect(
        missing == 0, "\(observer.ended.map { ($0.networkRoundTrip, $0.openedConnections, $0.elapsed) })")
    }
  }

  /// Two sockets that are connected on this machine.
  private final class SocketPair {
    let (client, server): (Int32, Int32)

    init() throws {
      let (listener, port) = try LoopbackSocket.bind(listens: true)
      defer { close(listener) }
      client = LoopbackSocket.connect(to: port)
      server = accept(listener, nil, nil)
      // Reads wait.
      try #require(server >= 0 && fcntl(client, F_SETFL, 0) == 0)
    }

    deinit { for one in [client, server] { close(one) } }

    /// The server sends a byte, which the client has got.
    func send() throws {
      try #require(write(server, [1], 1) == 1)
      var byte: UInt8 = 0
      try #require(read(client, &byte, 1) == 1)
    }
  }

  /// The connections of a tap, two sockets, and how often one was looked for.
  private final class Reader {
    let connections = Connections()
    let sockets: SocketPair
    private(set) var looks = 0

    init() throws { sockets = try SocketPair() }

    /// Reads the connection of a transfer whose time is just enough for that to be due. By libcurl's it began
    /// long before the socket: the kernel contradicts none of it, however late the test is.
    ///
    /// - Parameter found: Which socket is found, if one is looked for.
    func read(
      isNew: Bool = false, at now: Instant = .now, finds found: Int32?? = nil,
      _ change: (inout TransferInfo) -> Void = { _ in }
    ) -> Connections.Result {
      var transfer = TransferInfo()
      (transfer.preTransfer, transfer.connectionCount) = (1, isNew ? 1 : 0)
      transfer.localPort = localPort(of: sockets.client)
      transfer.peer = .init(address: "192.0.2.1", port: 80)
      (transfer.elapsed, transfer.total) = (transfer.resolution, 3_600_000_000_000)
      change(&transfer)
      return connections.read(transfer, at: now) { _ in
        looks += 1
        return found ?? sockets.client
      }
    }
  }

  /// What has come over the connection before: `nil` if that is unknown.
  private static func segmentsBefore(_ result: Connections.Result) throws -> Int? {
    guard case .read(let reading) = result else { throw TestFailure("not read: \(result)") }
    return reading.previous?.receivedSegments
  }

  /// A port of this machine that was closed may come again, for a connection to another server.
  @Test func `what was read before is of the same connection`() throws {
    let reader = try Reader()
    try reader.sockets.send()
    let other: (inout TransferInfo) -> Void = { $0.peer = .init(address: "192.0.2.2", port: 80) }
    // A port of none: the socket is looked for each time.
    let unfound: (inout TransferInfo) -> Void = { $0.localPort = 1 }
    // Before a connection that the transfer has opened there was nothing.
    var before = try [true, false, true, false].map { try Self.segmentsBefore(reader.read(isNew: $0)) }
    for _ in 0..<2 { before.append(try Self.segmentsBefore(reader.read(other))) }
    before.append(try Self.segmentsBefore(reader.read(isNew: true, unfound)))
    guard case .unknown = reader.read(finds: .some(nil), unfound) else {
      Issue.record("a socket is found that is not there")
      return
    }
    before.append(try Self.segmentsBefore(reader.read(unfound)))
    #expect(before == [0, 1, 0, 1, nil, 1, 0, nil])
    // What was sent again before is of earlier requests.
    let (few, more) = (
      with(TCPInfo()) { $0.retransmittedSegments = 3 }, with(TCPInfo()) { $0.retransmittedSegments = 5 }
    )
    let resent = [(more, few), (few, more), (more, nil)].map {
      TCPInfo.Reading(info: $0, previous: $1).retransmittedSegments
    }
    #expect(resent == [2, 0, nil])
  }

  @Test func `of a transfer without a connection no socket is looked for`() throws {
    let reader = try Reader()
    _ = reader.read { $0.preTransfer = 0 }
    _ = reader.read { $0.localPort = nil }
    _ = reader.read { $0.localPort = 0 }
    _ = reader.read { $0.peer = nil }
    #expect(reader.looks == 0)
  }

  /// On a busy machine the kernel is asked long after the transfer's end, and its times are as much longer.
  @Test func `a kernel that is asked late does not contradict`() async throws {
    let reader = try Reader()
    let client = reader.sockets.client
    try #require(write(client, [1], 1) == 1)
    try await Poll.until("the kernel's clock to move") {
      TCPInfo(of: client)?.sinceDataSent ?? 0 > 2 * TCPInfo.resolution
    }
    _ = try Self.segmentsBefore(reader.read(at: Instant(nanoseconds: 0)) { $0.total = 0 })
  }

  /// A Foundation whose session has no property that is known.
  @Test func `where no socket can be found the connection is counted, and the rest is known`() async throws {
    let loaderClass = try #require(TapContext.nativeHTTP)
    let layout = try #require(FoundationLayout(loader: loaderClass, session: NSObject.self))
    let session = URLSession(configuration: .ephemeral)
    #expect(layout.isUsed(session))
    var configuration = tap.configuration
    configuration.curl = CurlInfo(of: loaderClass, layout: layout)
    let (other, observer) = URLSessionTap.observed(configuration: configuration)
    let further = URLSessionTap(observers: [], configuration: configuration)
    let origin = try Origin { _ in [.response(body: [1])] }
    for tap in [other, further] { tap.install(on: session, client: "test") }
    _ = try await session.data(from: origin.url())
    session.finishTasksAndInvalidate()
    let observation = try await observer.end()
    #expect(observation.peerAddress == "127.0.0.1" && observation.timings[.processing] != nil)
    #expect(observation.networkRoundTrip == nil && observation.retransmittedSegments == nil)
    // For each tap.
    #expect(unknown.value == 2)
    // Where the limit of connections is unknown, no transfer is known to have had one.
    let context = TapContext.of([other])
    let base = URLSession(configuration: .ephemeral)
    defer { base.invalidateAndCancel() }
    let task = base.dataTask(with: origin.url())
    let client = try #require(MockProtocol(task: task, cachedResponse: nil, client: nil).client)
    let relay = ClientRelay(
      to: client, URLRequest(url: origin.url()), in: nil, context: context)
    relay.start(loaderClass.init(task: task, cachedResponse: nil, client: relay))
    #expect(!relay.leave(at: .now))
  }

  @Test func `a connection is read once in a second, and at each end once a body went over it`() throws {
    let reader = try Reader()
    /// When a connection is asked for, in milliseconds, whether the transfer was a long one, and its body.
    let steps: [(at: Int64, isLong: Bool, body: Int64?)] = [
      (1_000, false, nil), (1_999, false, nil), (1_999, true, nil), (2_998, false, nil), (2_999, false, nil),
      (3_000, false, 1), (3_001, false, nil), (3_002, false, nil),
    ]
    let isRead = steps.map { step in
      let result = reader.read(at: Instant(nanoseconds: step.at * 1_000_000)) {
        if !step.isLong { $0.elapsed -= 1 }
        $0.sentBytes = step.body
      }
      if case .read = result { return true } else { return false }
    }
    #expect(isRead == [true, false, true, false, true, true, true, true])
  }

  @Test func `a descriptor that is another connection's now is looked for again`() throws {
    let (reader, new) = (try Reader(), try SocketPair())
    let (port, old) = (localPort(of: reader.sockets.client), reader.sockets.client)
    for isNew in [true, false] { _ = reader.read(isNew: isNew) }
    #expect(reader.looks == 1)
    let copy = dup(old)
    defer { close(copy) }
    try #require(dup2(new.client, old) == old)
    _ = reader.read(finds: copy) { $0.localPort = port }
    #expect(reader.looks == 2)
  }

  @Test func `connections beyond a thousand make room`() throws {
    let reader = try Reader()
    // The first again before, and after.
    let ports = [1, 2, 1] + Array(3...1_025) + [1]
    let known = try ports.count { port in
      try Self.segmentsBefore(reader.read(isNew: port > 1) { $0.localPort = port }) != nil
    }
    #expect(known == 1_025)
  }

  @Test func `a count knows since when there was room`() {
    /// Whether the transfers that end had room. `3>2` is the begin of one at 3, in a session with two
    /// connections to a host, `4<0` the end at 4 of one that began at 0.
    func hadRoom(_ steps: String) -> [Bool] {
      let count = TransferCount()
      return steps.split(separator: " ").compactMap { step -> Bool? in
        let numbers = step.split { "<>".contains($0) }.compactMap { Int64($0) }
        let now = Instant(nanoseconds: numbers[0])
        if step.contains("<") { return count.leave(at: now, since: Instant(nanoseconds: numbers[1])) }
        count.enter(limit: Int(numbers[1]), at: now)
        return nil
      }
    }
    expectEqual(hadRoom("0>2 1>2 2<0 2>2 3>2 4<0 5<4 5<5"), [true, false, false, true])
    // The least limit is that of all. 0 is no limit, nor is less.
    expectEqual([hadRoom("0>1 0>2 1<0"), hadRoom("0>0 0>-1 1<0")], [[false], [true]])
  }
}
