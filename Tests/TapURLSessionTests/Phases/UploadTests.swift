import TestSupport

@testable import TapURLSession

/// The phases of requests with a body: libcurl takes the beginning of an upload for the first byte.
@Suite struct UploadTests {
  /// How a body is given, and who listens.
  struct Way: CustomTestStringConvertible, Sendable {
    var kind: Kind
    var style: Style
    var testDescription: String { "\(kind), \(style)" }

    static let all = [
      Way(kind: .data, style: .async), Way(kind: .data, style: .sessionDelegate),
      Way(kind: .uploadData, style: .async), Way(kind: .uploadData, style: .completionHandler),
      Way(kind: .uploadData, style: .sessionDelegate), Way(kind: .uploadFile, style: .async),
      Way(kind: .uploadFile, style: .sessionDelegate),
    ]
  }

  private var (tap, observer) = URLSessionTap.observed()

  private func post(_ way: Way, to origin: Origin, body: [UInt8]) async throws -> RequestObservation {
    var request = URLRequest(url: origin.url())
    request.httpMethod = "POST"
    if way.kind == .data { request.httpBody = Data(body) }
    var exchange = Exchange(kind: way.kind, style: way.style, request: request)
    exchange.uploadBody = body
    _ = try await exchange.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    return try await observer.end()
  }

  @Test(arguments: Way.all)
  func `the server's time after a body is processing`(way: Way) async throws {
    let origin = try Origin { _ in [.think(200), .response(body: [1])] }
    let observation = try await post(way, to: origin, body: [UInt8](repeating: 7, count: 200))
    let phases = observation.timings
    if observation.isSentAgain { return #expect(phases[.processing] == nil) }
    let processing = try #require(phases[nanoseconds: .processing], "\(phases)")
    // Two ticks of the kernel's clock. What lies unread in this process is its own.
    #expect(processing >= 200_000_000 - TCPInfo.resolution * 1_000)
    #expect(observation.phaseSum == observation.elapsed)
    let firstByte = try #require(observation.elapsedToFirstByte)
    // The response is one segment. From 8.10 on libcurl knows when it read the first of it and the last.
    let transfer = try #require(phases[nanoseconds: .transfer])
    #expect(transfer <= (Scenario.isCurl("8.10") ? observation.elapsed - firstByte : 0))
    #expect(firstByte >= 200_000_000 - TCPInfo.resolution * 1_000 && firstByte <= observation.elapsed)
  }

  @Test func `on a connection that was open, too`() async throws {
    let origin = try Origin { _ in [.think(60), .response(body: [1])] }
    let session = tap.session()
    var request = URLRequest(url: origin.url())
    request.httpMethod = "POST"
    request.httpBody = Data([1, 2, 3])
    for _ in 0..<3 { _ = try await session.data(for: request) }
    session.finishTasksAndInvalidate()
    try await observer.waitForEnds(3)
    #expect(observer.ended.map(\.isConnectionReused) == [false, true, true])
    for observation in observer.ended where !observation.isSentAgain {
      #expect(try #require(observation.timings[.processing]) >= .milliseconds(50))
      #expect(observation.phaseSum == observation.elapsed)
    }
  }

  /// The server pauses before it takes the body, and thinks after it. The client may be late to send, where its queue is busy.
  @Test(arguments: [Way(kind: .uploadData, style: .async), Way(kind: .uploadFile, style: .sessionDelegate)])
  func `a body that the server takes slowly is upload`(way: Way) async throws {
    let origin = try Origin(greeting: [.arrival, .think(150)]) { _ in [.think(100), .response(body: [1])] }
    let observation = try await post(way, to: origin, body: [UInt8](repeating: 7, count: 16 << 20))
    let phases = observation.timings
    #expect(observation.requestBodySize == 16 << 20)
    // The last of the body goes out after the server has begun to read.
    let precision = TCPInfo.resolution * 1_000
    #expect(try #require(phases[nanoseconds: .upload], "\(phases)") >= 150_000_000 - precision)
    #expect(try #require(phases[nanoseconds: .processing], "\(phases)") >= 100_000_000 - precision)
    #expect(observation.phaseSum == observation.elapsed)
  }

  /// libcurl asks before it sends a body of unknown length, so an interim response comes first.
  @Test func `what follows a stream that the server was asked for is the response`() async throws {
    let origin = try Origin { _ in [.think(50), .response(body: [1])] }
    let observation = try await post(
      Way(kind: .uploadStream, style: .sessionDelegate), to: origin, body: [UInt8](repeating: 7, count: 200))
    #expect(origin.requests.first?.headers["expect"] == "100-continue", "\(origin.requests)")
    try expectResponse(observation, atLeast: 50)
  }

  @Test(arguments: Way.all)
  func `of a response in pieces the border to the server's time is unknown`(way: Way) async throws {
    let origin = try Origin { _ in
      [.think(300), .text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .think(60), .text("ab")]
    }
    let observation = try await post(way, to: origin, body: [UInt8](repeating: 7, count: 100))
    try expectResponse(observation, atLeast: 360)
  }

  /// Without a border, if libcurl does not know the first byte: it does from 8.10 on.
  private func expectResponse(_ observation: RequestObservation, atLeast milliseconds: Int64) throws {
    let phases = observation.timings
    if observation.isSentAgain { return #expect(phases[.processing] == nil) }
    let parts = [RequestTimings.Phase.processing, .response, .transfer].compactMap { phases[nanoseconds: $0] }
    let server = milliseconds * 1_000_000 - TCPInfo.resolution * 1_000
    #expect(parts.reduce(0, +) >= server)
    #expect(observation.phaseSum == observation.elapsed, "\(phases)")
    // None of the server's time is this process's.
    #expect(try #require(phases[nanoseconds: .local]) <= observation.elapsed - server)
    if phases[.response] != nil {
      #expect(phases[.processing] == nil && phases[.transfer] == nil && observation.timeToFirstByte == nil)
    }
  }
}
