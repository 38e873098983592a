import TestSupport

@testable import TapURLSession

/// libcurl's info of a transfer: phases within what the server did, exact sizes, connections.
struct TransferInfoTests {
  enum Way: String, CaseIterable, Sendable {
    case async, handler, delegate, download, downloadDelegate

    var kind: Kind { self == .download || self == .downloadDelegate ? .download : .data }
    var style: Style {
      switch self {
      case .async, .download: .async
      case .handler: .completionHandler
      case .delegate, .downloadDelegate: .sessionDelegate
      }
    }
  }

  private var (tap, observer) = URLSessionTap.observed()

  private func observation(
    _ way: Way, _ url: URL, configuration base: URLSessionConfiguration = .ephemeral
  ) async throws -> RequestObservation {
    let call = AppCall(kind: way.kind, style: way.style, request: URLRequest(url: url))
    let count = observer.ended.count
    _ = try await call.run(tap.sessionConfiguration(from: base, client: "test"))
    return try await observer.end(count + 1)
  }

  static func milliseconds(_ duration: Duration?) -> Double? { duration.map { $0 / .milliseconds(1) } }

  @Test(arguments: Way.allCases)
  func `a slow server shows as processing, and a slow body as transfer`(way: Way) async throws {
    let origin = try Origin { _ in
      [
        .think(300), .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        .think(200),
      ] + [.text("6\r\n world\r\n0\r\n\r\n")]
    }
    let observation = try await observation(way, origin.url())
    let timings = observation.timings
    let processing = try #require(Self.milliseconds(timings[.processing]))
    let transfer = try #require(Self.milliseconds(timings[.transfer]))
    let local = try #require(Self.milliseconds(timings[.local]))
    // A client that is late to read the first byte takes a part of the body's time for the server's, or for
    // its own.
    #expect(processing >= 250 && processing + transfer + local >= 450)
    let absent = RequestTimings.Phase.allCases.filter { timings[$0] == nil }
    #expect(Set([.queue, .tls]).isSubset(of: absent) && !absent.contains(.connect))
    let firstByte = try #require(Self.milliseconds(observation.timeToFirstByte))
    let total = try #require(Self.milliseconds(observation.duration))
    #expect(firstByte >= 299 && firstByte <= total && processing + transfer <= total + 1)
    let sizes = (observation.requestBodySize, observation.responseBodySize)
    let connection = (observation.openedConnections, observation.isConnectionReused, observation.peerAddress)
    #expect(sizes == (0, 11) && connection == (1, false, "127.0.0.1"))
    #expect(observation.protocolVersion == .http11 && observation.cutOffPhase == nil)
  }

  @Test func `a connection that is open has only the phases of the exchange`() async throws {
    let origin = try Origin { _ in [.response(body: [1, 2, 3])] }
    let session = tap.session()
    for _ in 0..<3 { _ = try await session.data(from: origin.url()) }
    session.finishTasksAndInvalidate()
    try await observer.waitForEnds(3)
    let ended = observer.ended
    expectEqual(ended.map(\.isConnectionReused), [false, true, true])
    expectEqual(ended.map(\.openedConnections), [1, 0, 0])
    for observation in ended.dropFirst() {
      let present = RequestTimings.Phase.allCases.filter { observation.timings[$0] != nil }
      #expect(present == [.processing, .transfer, .local])
      #expect(observation.phaseSum == observation.elapsed)
    }
  }

  /// The status code of the last response names no place to go to (RFC 9110, section 15.4.5): the redirect
  /// before it was followed.
  @Test func `a redirect's phases are those of the last leg`() async throws {
    let origin = try Origin { request in
      request.path == "/end"
        ? [.think(150), .response("304 Not Modified")] : [.think(200), .redirect(to: "/end")]
    }
    let observation = try await observation(.delegate, origin.url("/start"))
    #expect(observation.resendCount == 1 && observation.statusCode == 304)
    let processing = try #require(Self.milliseconds(observation.timings[.processing]))
    #expect(processing >= 100 && observation.duration / .milliseconds(1) - processing >= 199)
  }

  /// What comes first of a response, long before the rest.
  @Test(
    arguments: ["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n"],
    [Way.async, .handler, .delegate])
  func `the first byte is that of the first piece, whoever listens`(piece: String, way: Way) async throws {
    let (begun, goesOn) = (Gate(), Gate())
    let origin = try Origin { request in
      request.path == "/other"
        ? [.response()]
        : [.text(piece), .signal(begun), .hold(goesOn), .think(100), .text("Content-Length: 1\r\n\r\na")]
    }
    let opening = Task {
      try await begun.wait()
      // Whole requests after the piece: Foundation's queue has come to it by then.
      let other = URLSession(configuration: .ephemeral)
      for _ in 0..<3 { _ = try await other.data(from: origin.url("/other")) }
      goesOn.open()
    }
    let observation = try await observation(way, origin.url())
    try await opening.value
    let firstByte = try #require(observation.timeToFirstByte)
    #expect(firstByte <= observation.duration - .milliseconds(100))
    #expect(try #require(observation.timings[.transfer]) >= .milliseconds(90))
    #expect(observation.phaseSum == observation.elapsed)
  }

  /// The request is sent again, and libcurl's total is that of the second time.
  @Test func `of a task that was suspended and cancelled no phase is of the time before`() async throws {
    let (arrivals, over) = (Arrivals(), Gate())
    let pause = 25
    let origin = try Origin { request in
      if request.path == "/other" { return [.response()] }
      poll(nil, 0, Int32(pause))
      arrivals.note(request.path)
      return [.hold(over)]
    }
    defer { over.open() }
    let (session, other) = (tap.session(), URLSession(configuration: .ephemeral))
    var count = 0
    let observation = try await RequestObservation.sentOnce {
      count += 1
      let task = session.dataTask(with: origin.url("/suspended"))
      task.resume()
      try await arrivals.wait(for: 2 * count - 1)
      task.suspend()
      // A whole request of another session: Foundation's queue has come to the suspension by then.
      _ = try await other.data(from: origin.url("/other"))
      task.resume()
      try await arrivals.wait(for: 2 * count)
      task.cancel()
      return try await observer.end(count)
    }
    #expect(observation.end == .cancelled && observation.cutOffPhase == .processing)
    let processing = try #require(observation.timings[nanoseconds: .processing])
    // The server had all of the request, twice, and paused.
    let least = Int64(pause) * 1_000_000 - TCPInfo.resolution
    #expect(processing >= least && observation.phaseSum <= observation.elapsed - least)
  }

  @Test(
    arguments: Way.allCases,
    [("http://nothing.invalid/", .resolve, "nothing.invalid"), ("http://127.0.0.1", .connect, "connect")]
      as [(String, RequestTimings.Phase, String)])
  func `without a connection a request ends in what failed, with nothing transferred`(
    way: Way, server: (url: String, phase: RequestTimings.Phase, message: String)
  ) async throws {
    let closed = try ClosedPort()
    let isRefused = server.phase == .connect
    let url = try #require(URL(string: isRefused ? "\(server.url):\(closed.port)/" : server.url))
    let observation = try await observation(way, url)
    #expect(observation.end == .failure(isRefused ? .connect : .dns, statusCode: nil))
    #expect(try #require(observation.errorMessage).contains(server.message))
    let phases = RequestTimings.Phase.allCases.filter { observation.timings[$0] != nil }
    #expect(
      isRefused ? phases.contains(.connect) && !phases.contains(.processing) : phases == [.resolve, .local])
    #expect(observation.cutOffPhase == server.phase)
    let sizes = [observation.requestBodySize, observation.responseBodySize]
    #expect(sizes == [nil, nil] && observation.protocolVersion == nil)
    if isRefused { #expect(observation.isConnectionReused == nil) }
  }

  @Test(arguments: [Way.async, .handler, .delegate, .download])
  func `a body that is cut has the size of what had come`(way: Way) async throws {
    let origin = try Origin { _ in [.torn, .think(50), .close] }
    let observation = try await observation(way, origin.url())
    #expect(observation.end == .failure(.connectionLost, statusCode: 200))
    #expect(observation.responseBodySize == 9 && observation.cutOffPhase == .transfer)
    let processing = try #require(Self.milliseconds(observation.timings[.processing]))
    let transfer = try #require(Self.milliseconds(observation.timings[.transfer]))
    #expect(processing + transfer >= 25)
  }

  @Test func `so has one that the app cancels`() async throws {
    let (arrived, over) = (Gate(), Gate())
    let origin = try Origin { _ in [.torn, .signal(arrived), .hold(over)] }
    defer { over.open() }
    var call = AppCall(kind: .data, style: .sessionDelegate, request: URLRequest(url: origin.url()))
    (call.interruption, call.waitsForData, call.isDue, call.goOn) = (.cancel, true, arrived, over)
    _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    let observation = try await observer.end()
    #expect(observation.end == .cancelled && observation.responseBodySize == 9)
    #expect(observation.timings[.transfer] != nil && observation.cutOffPhase == .transfer)
    #expect(observation.timeToFirstByte != nil)
  }

  @Test func `without libcurl's info a response is as long as its head says, or as what came of it`() throws {
    let url = try #require(URL(string: "http://a.test/"))
    let (length, coding) = (["Content-Length": "7"], "Content-Encoding")
    let cases: [(status: Int, headers: [String: String], size: Int64?)] = [
      (200, [:], 5), (200, length, 7), (200, ["Content-Length": "7", "Transfer-Encoding": "chunked"], 5),
      (200, [coding: "gzip"], nil), (200, ["Content-Length": "7", coding: "gzip"], 7),
      (200, [coding: "Identity"], 5), (200, [coding: ""], 5), (204, length, 0), (304, length, 0),
    ]
    var transfer = TransferInfo()
    transfer.relay.loadedBytes = 5
    let responses = cases.map {
      HTTPURLResponse(url: url, statusCode: $0.status, httpVersion: nil, headerFields: $0.headers)
    }
    let sizes = (responses + [nil]).map { transfer.responseBodySize(method: "GET", $0) }
    expectEqual(sizes, cases.map(\.size) + [5])
    let sizesOfHEAD = responses.map { transfer.responseBodySize(method: "HEAD", $0) }
    expectEqual(sizesOfHEAD, cases.map { _ in 0 })
    // Of a task that is gone, no more is known than whether anything was sent.
    let sent: [Int64?] = [0, 9, nil]
    let requests = sent.map { sent in
      with(transfer) { $0.sentBytes = sent }.requestBodySize(of: nil, method: "POST")
    }
    #expect(requests == [0, nil, nil])
  }

  /// Of a response that may ask for credentials, or be a redirect that was not followed, Foundation's is
  /// looked at.
  @Test func `libcurl's status code does, unless Foundation's response may say more`() {
    let rows: [(status: Int?, redirects: Int, isSufficient: Bool)] = [
      (nil, 0, false), (0, 0, false), (199, 0, false), (200, 0, true), (302, 0, true), (400, 0, true),
      (401, 0, false), (402, 0, true), (299, 1, true), (300, 1, false), (399, 1, false), (400, 1, true),
      (401, 1, false),
    ]
    for (status, redirects, isSufficient) in rows {
      var transfer = TransferInfo()
      (transfer.statusCode, transfer.redirectCount) = (status, redirects)
      let isSeen = transfer.isSufficient
      transfer.discountRefusedRedirect()
      let isRefused = redirects > 0 && [300, 399].contains(status)
      #expect(
        (isSeen, transfer.redirectCount, transfer.isRedirectRefused)
          == (isSufficient, isRefused ? 0 : redirects, isRefused), "\(status ?? -1)")
    }
  }
}
