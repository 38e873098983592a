import TestSupport

@testable import TapURLSession

/// The phases of requests with a body: libcurl takes the beginning of an upload for the first byte.
struct UploadTests {
  /// How a body is given, and who listens.
  private static let ways: [(Kind, Style)] = [
    (.data, .async), (.data, .sessionDelegate), (.uploadData, .async), (.uploadData, .completionHandler),
    (.uploadData, .sessionDelegate), (.uploadFile, .async), (.uploadFile, .sessionDelegate),
  ]

  private var (tap, observer) = URLSessionTap.observed()

  private func post(
    _ kind: Kind, _ style: Style, to origin: Origin, body: [UInt8]
  ) async throws -> RequestObservation {
    let request = with(URLRequest(url: origin.url())) {
      $0.httpMethod = "POST"
      if kind == .data { $0.httpBody = Data(body) }
    }
    var call = AppCall(kind: kind, style: style, request: request)
    call.uploadBody = body
    return try await once {
      _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    }
  }

  /// The last request of which TCP has sent nothing again.
  private func once(_ make: () async throws -> Void) async throws -> RequestObservation {
    try await RequestObservation.sentOnce {
      let count = observer.ended.count
      try await make()
      return [try await observer.end(count + 1)]
    }[0]
  }

  @Test(arguments: ways)
  func `the server's time after a body is processing`(kind: Kind, style: Style) async throws {
    let origin = try Origin { _ in [.think(200), .response(body: [1])] }
    let observation = try await post(kind, style, to: origin, body: [UInt8](repeating: 7, count: 200))
    let phases = observation.timings
    let processing = try #require(phases[nanoseconds: .processing], "\(phases)")
    // Two ticks of the kernel's clock. What lies unread in this process is its own.
    #expect(processing >= 200_000_000 - TCPInfo.resolution)
    #expect(observation.phaseSum == observation.elapsed)
    let firstByte = try #require(observation.elapsedToFirstByte)
    // The response is one segment. libcurl from 8.10 on, and a delegate, know when the first of it and the
    // last were read.
    let transfer = try #require(phases[nanoseconds: .transfer])
    let isSeen = style == .sessionDelegate || Scenario.isCurl("8.10")
    #expect(transfer <= (isSeen ? observation.elapsed - firstByte : 0))
    #expect(firstByte >= 200_000_000 - TCPInfo.resolution && firstByte <= observation.elapsed)
  }

  @Test func `on a connection that was open, too`() async throws {
    let origin = try Origin { _ in [.think(60), .response(body: [1])] }
    let session = tap.session()
    let request = with(URLRequest(url: origin.url())) {
      ($0.httpMethod, $0.httpBody) = ("POST", Data([1, 2, 3]))
    }
    // The first opens the connection.
    _ = try await session.data(for: request)
    try await observer.waitForEnds(1)
    let reused = try await RequestObservation.sentOnce {
      let count = observer.ended.count
      for _ in 0..<2 { _ = try await session.data(for: request) }
      try await observer.waitForEnds(count + 2)
      return observer.ended.suffix(2)
    }
    session.finishTasksAndInvalidate()
    expectEqual(reused.map(\.isConnectionReused), [true, true])
    for observation in reused {
      #expect(try #require(observation.timings[.processing]) >= .milliseconds(50))
      #expect(observation.phaseSum == observation.elapsed)
    }
  }

  /// The server pauses before it takes the body, and thinks after it. The client may be late to send, where
  /// its queue is busy.
  @Test(arguments: [(Kind.uploadData, Style.async), (.uploadFile, .sessionDelegate)])
  func `a body that the server takes slowly is upload`(kind: Kind, style: Style) async throws {
    let origin = try Origin(greeting: [.arrival, .think(150)]) { _ in [.think(100), .response(body: [1])] }
    let observation = try await post(kind, style, to: origin, body: [UInt8](repeating: 7, count: 16 << 20))
    let phases = observation.timings
    #expect(observation.requestBodySize == 16 << 20)
    // The last of the body goes out after the server has begun to read.
    let precision = TCPInfo.resolution
    #expect(try #require(phases[nanoseconds: .upload], "\(phases)") >= 150_000_000 - precision)
    #expect(try #require(phases[nanoseconds: .processing], "\(phases)") >= 100_000_000 - precision)
    #expect(observation.phaseSum == observation.elapsed)
  }

  /// libcurl asks before it sends a body of unknown length, so an interim response comes first. What the
  /// delegate got bounds the first byte of the other.
  @Test func `the first byte after a stream is not that of the interim response`() async throws {
    let server = Mutex<Int64?>(nil)
    let origin = try Origin { _ in
      let arrived = Instant.now.nanoseconds
      poll(nil, 0, 50)
      server.withLock { $0 = Instant.now.nanoseconds - arrived }
      return [.response(body: [1])]
    }
    var latest: Int64 = 0
    let observation = try await once {
      let delegate = TranscriptDelegate(.init(), uploadBody: [UInt8](repeating: 7, count: 200))
      let session = tap.session(delegate: delegate)
      let resumed = Instant.now
      session.uploadTask(withStreamedRequest: with(URLRequest(url: origin.url())) { $0.httpMethod = "POST" })
        .resume()
      try await delegate.done.wait("the end")
      // Foundation reports the interim response too.
      latest = resumed.duration(to: try #require(delegate.heads.withLock { $0[200] })).nanoseconds
      session.finishTasksAndInvalidate()
    }
    #expect(origin.requests.first?.headers["expect"] == "100-continue", "\(origin.requests)")
    try expectResponse(observation, atLeast: 50, isHeadSeen: true)
    let firstByte = try #require(observation.elapsedToFirstByte)
    // The kernel's clock tells for how long it lay unread.
    let earliest = try #require(server.withLock { $0 }) - TCPInfo.resolution
    #expect(earliest <= firstByte && firstByte <= latest, "\(earliest), \(firstByte) of \(observation)")
  }

  /// Its length is unknown, so nobody knows whether all of it has gone.
  @Test func `a stream that is cancelled has what has been sent, and ends in no phase`() async throws {
    let (arrived, over) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(arrived), .hold(over)] }
    defer { over.open() }
    let request = with(URLRequest(url: origin.url())) { $0.httpMethod = "POST" }
    var call = AppCall(kind: .uploadStream, style: .sessionDelegate, request: request)
    (call.interruption, call.isDue, call.goOn) = (.cancel, arrived, over)
    _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    let observation = try await observer.end()
    #expect(observation.end == .cancelled && observation.cutOffPhase == nil)
    #expect(observation.requestBodySize == Int64(call.uploadBody.count))
    #expect(observation.responseBodySize == nil)
  }

  /// Head and body come in one segment, and the close ends the response long after it.
  @Test(arguments: [(Kind.data, Style.async), (.uploadData, .sessionDelegate)])
  func `what the server waits with its close is transfer`(kind: Kind, style: Style) async throws {
    let origin = try Origin { _ in [.think(20), .text("HTTP/1.1 200 OK\r\n\r\na"), .think(60), .close] }
    let observation = try await post(kind, style, to: origin, body: [1, 2, 3])
    let phases = observation.timings
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    let transfer = try #require(phases[nanoseconds: .transfer], "\(phases)")
    // A head that is read late takes some of the body's time.
    let isExact = style == .async && !Scenario.isCurl("8.10")
    let others = isExact ? 0 : observation.elapsed - transfer
    #expect(transfer + others >= 60_000_000 - TCPInfo.resolution, "\(phases)")
    #expect(try #require(observation.elapsedToFirstByte) <= observation.elapsed - transfer)
  }

  @Test(arguments: ways)
  func `of a response in pieces the border to the server's time is unknown`(kind: Kind, style: Style)
    async throws
  {
    let origin = try Origin { _ in
      [.think(300), .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .think(60), .text("ab")]
    }
    let observation = try await post(kind, style, to: origin, body: [UInt8](repeating: 7, count: 100))
    try expectResponse(observation, atLeast: 360, isHeadSeen: style == .sessionDelegate)
  }

  /// Without a border, if libcurl does not know the first byte: it does from 8.10 on.
  private func expectResponse(
    _ observation: RequestObservation, atLeast milliseconds: Int64, isHeadSeen: Bool
  ) throws {
    let phases = observation.timings
    let parts = [RequestTimings.Phase.processing, .response, .transfer].compactMap { phases[nanoseconds: $0] }
    let server = milliseconds * 1_000_000 - TCPInfo.resolution
    #expect(parts.reduce(0, +) >= server)
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    // None of the server's time is this process's.
    #expect(try #require(phases[nanoseconds: .local]) <= observation.elapsed - server)
    #expect((phases[.response] == nil) == (isHeadSeen || Scenario.isCurl("8.10")))
    #expect((phases[.response] == nil) == (phases[.processing] != nil && phases[.transfer] != nil))
    #expect((phases[.response] == nil) == (observation.timeToFirstByte != nil))
  }
}
