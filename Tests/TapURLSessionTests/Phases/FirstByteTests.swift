import TestSupport

@testable import TapURLSession

/// The time to the first byte is libcurl's, whoever listens.
struct FirstByteTests {
  private var (tap, observer) = URLSessionTap.observed()

  /// What comes first of a response, long before the rest.
  @Test(
    arguments: ["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n"],
    [Style.async, .completionHandler, .sessionDelegate])
  func `the first byte is that of the first piece`(piece: String, style: Style) async throws {
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
    let call = AppCall(kind: .data, style: style, request: URLRequest(url: origin.url()))
    _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    try await opening.value
    let observation = try await observer.end()
    #expect(observation.phaseSum == observation.elapsed)
    let firstByte = try #require(observation.timeToFirstByte)
    #expect(firstByte <= observation.duration - .milliseconds(100))
    #expect(try #require(observation.timings[.transfer]) >= .milliseconds(90))
  }

  /// The end of a connection, and what is no HTTP/1.x, are bytes or events that libcurl notes; they are no
  /// response.
  @Test(arguments: ["", "hello\n"], [Kind.data, .uploadData])
  func `what has no head has no first byte`(answer: String, kind: Kind) async throws {
    let origin = try Origin { _ in [.think(20), .text(answer), .close] }
    let request = with(URLRequest(url: origin.url())) { $0.httpMethod = kind.sendsBody ? "POST" : "GET" }
    let call = AppCall(kind: kind, style: .completionHandler, request: request)
    let observation = try await RequestObservation.sentOnce {
      let count = observer.ended.count
      _ = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
      return [try await observer.end(count + 1)]
    }[0]
    #expect(observation.errorType != nil && observation.statusCode == nil, "\(observation.end)")
    #expect(observation.timeToFirstByte == nil && observation.timings[.transfer] == nil)
    #expect(observation.cutOffPhase == .processing, "\(observation.timings)")
    #expect(observation.phaseSum == observation.elapsed)
  }
}
