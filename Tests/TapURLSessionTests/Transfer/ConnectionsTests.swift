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
    var call = AppCall(kind: kind, style: .sessionDelegate, request: request)
    call.makeSession = session.make(tap)
    if ending == .cancel { (call.interruption, call.isDue, call.goOn) = (.cancel, isDue, over) }
    let ended = observer.ended.count
    _ = try await call.run(.ephemeral)
    try await observer.waitForEnds(ended + 1)
    let observation = try #require(observer.ended.last)
    #expect(observation.openedConnections == 1 && observation.networkRoundTrip != nil, "\(observation)")
    #expect(observation.retransmittedSegments != nil)
    #expect(unknown.value == 0)
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
      let listener = try LoopbackSocket.bind(listens: true)
      defer { close(listener.descriptor) }
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.client = client
      var (address, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
      server = try withUnsafeMutablePointer(to: &address) {
        try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          try #require(getsockname(listener.descriptor, address, &length) == 0)
          try #require(connect(client, address, length) == 0)
          return accept(listener.descriptor, nil, nil)
        }
      }
    }

    deinit { for one in [client, server] { close(one) } }

    /// The server sends a byte, which the client has got.
    func send() throws {
      try #require(write(server, [1], 1) == 1)
      var byte: UInt8 = 0
      try #require(read(client, &byte, 1) == 1)
    }
  }

  /// A transfer over a socket, whose time is just enough for a reading to be due. By libcurl's it began long
  /// before the socket: the kernel contradicts none of it, however late the test is.
  private static func transfer(
    over descriptor: Int32, to server: String = "192.0.2.1", isNew: Bool = false
  ) -> TransferInfo {
    var transfer = TransferInfo()
    (transfer.preTransfer, transfer.connectionCount) = (1, isNew ? 1 : 0)
    transfer.localPort = localPort(of: descriptor)
    (transfer.peer, transfer.elapsed) = (.init(address: server, port: 80), transfer.resolution)
    transfer.total = 3_600_000_000_000
    return transfer
  }

  /// A port of this machine that was closed may come again, for a connection to another server.
  @Test func `what was read before is of the same connection`() throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    try sockets.send()
    func previous(_ server: String, isNew: Bool) -> TCPInfo? {
      let transfer = Self.transfer(over: sockets.client, to: server, isNew: isNew)
      guard case .read(let reading) = connections.read(transfer, at: .now, socket: { _ in sockets.client })
      else {
        Issue.record("no reading of \(server)")
        return nil
      }
      return reading.previous
    }
    // Before a connection that the transfer has opened there was nothing.
    for _ in 0..<2 {
      #expect(previous("192.0.2.1", isNew: true) == TCPInfo())
      #expect(previous("192.0.2.1", isNew: false)?.receivedSegments == 1)
    }
    #expect(previous("192.0.2.2", isNew: false) == nil)
    #expect(previous("192.0.2.2", isNew: false)?.receivedSegments == 1)
    // What was sent again before is of earlier requests.
    let before = with(TCPInfo()) { $0.retransmittedSegments = 3 }
    let now = with(TCPInfo()) { $0.retransmittedSegments = 5 }
    #expect(TCPInfo.Reading(info: now, previous: before).retransmittedSegments == 2)
    #expect(TCPInfo.Reading(info: before, previous: now).retransmittedSegments == 0)
  }

  @Test func `of a transfer without a connection no socket is looked for`() throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    let changes: [(inout TransferInfo) -> Void] = [
      { $0.preTransfer = 0 }, { $0.localPort = nil }, { $0.localPort = 0 }, { $0.peer = nil },
    ]
    for change in changes {
      var looks = 0
      _ = connections.read(with(Self.transfer(over: sockets.client), change), at: .now) { _ in
        looks += 1
        return sockets.client
      }
      #expect(looks == 0)
    }
  }

  /// On a busy machine the kernel is asked long after the transfer's end, and its times are as much longer.
  @Test func `a kernel that is asked late does not contradict`() async throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    try #require(write(sockets.client, [1], 1) == 1)
    try await Poll.until("the kernel's clock to move") {
      TCPInfo(of: sockets.client)?.sinceDataSent ?? 0 > 2 * TCPInfo.resolution
    }
    let transfer = with(Self.transfer(over: sockets.client)) { $0.total = 0 }
    let result = connections.read(transfer, at: Instant(nanoseconds: 0)) { _ in sockets.client }
    guard case .read = result else {
      Issue.record("\(result)")
      return
    }
  }

  /// Its previous reading may be of another one.
  @Test func `of a connection whose socket was not found nothing is known before`() throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    func read(isNew: Bool, finds descriptor: Int32?) -> Connections.Result {
      // A port of none: the socket is looked for each time.
      let transfer = with(Self.transfer(over: sockets.client, isNew: isNew)) { $0.localPort = 1 }
      return connections.read(transfer, at: .now) { _ in descriptor }
    }
    guard case .read = read(isNew: true, finds: sockets.client),
      case .unknown = read(isNew: false, finds: nil),
      case .read(let reading) = read(isNew: false, finds: sockets.client)
    else {
      Issue.record("what is found is not read")
      return
    }
    #expect(reading.previous == nil && reading.retransmittedSegments == nil)
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
      to: client, TaskRequest(URLRequest(url: origin.url())), in: nil, context: context)
    relay.start(loaderClass.init(task: task, cachedResponse: nil, client: relay))
    #expect(!relay.leave(at: .now))
  }

  @Test func `a connection is read once in a second, and at each end once a body went over it`() throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    func isRead(after milliseconds: Int64, _ change: (inout TransferInfo) -> Void = { _ in }) -> Bool {
      var transfer = Self.transfer(over: sockets.client)
      transfer.elapsed -= 1
      change(&transfer)
      let now = Instant(nanoseconds: milliseconds * 1_000_000)
      if case .read = connections.read(transfer, at: now, socket: { _ in sockets.client }) { return true }
      return false
    }
    #expect(isRead(after: 1_000))
    #expect(!isRead(after: 1_999))
    #expect(isRead(after: 1_999) { $0.elapsed += 1 })
    #expect(!isRead(after: 2_998))
    #expect(isRead(after: 2_999))
    #expect(isRead(after: 3_000) { $0.sentBytes = 1 })
    #expect(isRead(after: 3_001) && isRead(after: 3_002))
  }

  @Test func `a descriptor that is another connection's now is looked for again`() throws {
    let (connections, old, new) = (Connections(), try SocketPair(), try SocketPair())
    let transfer = Self.transfer(over: old.client, isNew: true)
    var looks = 0
    func look(_ transfer: TransferInfo, finds descriptor: Int32) {
      _ = connections.read(transfer, at: .now) { _ in
        looks += 1
        return descriptor
      }
    }
    look(transfer, finds: old.client)
    look(with(transfer) { $0.connectionCount = 0 }, finds: old.client)
    #expect(looks == 1)
    let copy = dup(old.client)
    defer { close(copy) }
    try #require(dup2(new.client, old.client) == old.client)
    look(with(transfer) { $0.connectionCount = 0 }, finds: copy)
    #expect(looks == 2)
  }

  @Test func `connections beyond a thousand make room`() throws {
    let (connections, sockets) = (Connections(), try SocketPair())
    var known = 0
    // The first again before, and after.
    for port in [1, 2, 1] + Array(3...1_025) + [1] {
      let transfer = with(Self.transfer(over: sockets.client, isNew: port > 1)) { $0.localPort = port }
      if case .read(let reading) = connections.read(transfer, at: .now, socket: { _ in sockets.client }),
        reading.previous != nil
      {
        known += 1
      }
    }
    #expect(known == 1_025)
  }

  @Test func `a count knows since when there was room`() {
    /// Whether a transfer that ends had room, of those that begin, at instants in order.
    enum Step { case begin(limit: Int), end(since: Int64) }
    func hadRoom(_ steps: (at: Int64, Step)...) -> [Bool] {
      let count = TransferCount()
      return steps.compactMap { at, step in
        switch step {
        case .begin(let limit):
          count.enter(limit: limit, at: Instant(nanoseconds: at))
          return nil
        case .end(let start):
          return count.leave(at: Instant(nanoseconds: at), since: Instant(nanoseconds: start))
        }
      }
    }
    let two = hadRoom(
      (0, .begin(limit: 2)), (1, .begin(limit: 2)), (2, .end(since: 0)), (2, .begin(limit: 2)),
      (3, .begin(limit: 2)), (4, .end(since: 0)), (5, .end(since: 4)), (5, .end(since: 5)))
    #expect(two == [true, false, false, true])
    // The least limit is that of all. 0 is no limit, nor is less.
    #expect(hadRoom((0, .begin(limit: 1)), (0, .begin(limit: 2)), (1, .end(since: 0))) == [false])
    #expect(hadRoom((0, .begin(limit: 0)), (0, .begin(limit: -1)), (1, .end(since: 0))) == [true])
  }

}
