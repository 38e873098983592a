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
    return try await RequestObservation.sentOnce {
      let count = observer.ended.count
      _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
      return try await observer.end(count + 1)
    }
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

  @Test(arguments: ways)
  func `of a response in pieces the border to the server's time is unknown`(kind: Kind, style: Style)
    async throws
  {
    let origin = try Origin { _ in
      [.think(300), .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .think(60), .text("ab")]
    }
    let observation = try await post(kind, style, to: origin, body: [UInt8](repeating: 7, count: 100))
    let phases = observation.timings
    let parts = [RequestTimings.Phase.processing, .response, .transfer].compactMap { phases[nanoseconds: $0] }
    let server = 360_000_000 - TCPInfo.resolution
    #expect(parts.reduce(0, +) >= server && observation.phaseSum == observation.elapsed, "\(phases)")
    // None of the server's time is this process's.
    #expect(try #require(phases[nanoseconds: .local]) <= observation.elapsed - server)
    // libcurl knows the first byte from 8.10 on, and a delegate the head.
    let isKnown = style == .sessionDelegate || Scenario.isCurl("8.10")
    let present = [RequestTimings.Phase.processing, .response, .transfer].filter { phases[$0] != nil }
    #expect(present == (isKnown ? [.processing, .transfer] : [.response]))
    #expect((observation.timeToFirstByte != nil) == isKnown)
  }
}
