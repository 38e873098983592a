import Foundation
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Each kind of task in each style, stock and tapped: the app and the server see the same, and the metrics
/// see what happened.
@Suite struct FidelityTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var kind: Kind
    var style: Style
    var path: String
    var testDescription: String { "\(kind.rawValue) \(style.rawValue) \(path)" }
  }

  static let paths = ["/sized", "/chunked", "/empty", "/missing", "/broken", "/redirect"]

  static let cases: [Case] = Kind.allCases.flatMap { kind in
    Style.allCases.filter(kind.exists).flatMap { style in
      paths.map { Case(kind: kind, style: style, path: $0) }
    }
  }

  static let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  static func answer(_ request: OriginRequest) -> [OriginStep] {
    switch request.path {
    case "/sized": [.response(headers: [("X-Origin", "yes")], body: body)]
    case "/chunked": [.chunked(body: body, chunk: 7_001)]
    case "/empty": [.text("HTTP/1.1 204 No Content\r\n\r\n")]
    case "/missing": [.response("404 Not Found", body: Array("nothing here".utf8))]
    case "/broken": [.response("503 Service Unavailable")]
    case "/redirect": [.response("302 Found", headers: [("Location", "/sized")])]
    default: [.response("400 Bad Request")]
    }
  }

  @Test(arguments: cases)
  func `the app and the server cannot tell`(_ testCase: Case) async throws {
    let origin = try Origin(Self.answer)
    defer { origin.stop() }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    var request = URLRequest(url: origin.url(testCase.path))
    request.httpMethod = testCase.kind.rawValue.hasPrefix("upload") ? "POST" : "GET"
    let exchange = Exchange(kind: testCase.kind, style: testCase.style, request: request)

    let stock = try await exchange.run(.ephemeral)
    let stockWire = origin.requests
    let tapped = try await exchange.run(tap.configuration(from: .ephemeral, client: "test"))
    let tappedWire = Array(origin.requests.dropFirst(stockWire.count))

    #expect(tapped == stock)
    #expect(tappedWire == stockWire)
    try await observer.waitForEnds(1)
    #expect(observer.started.count == 1)
    let observation = try #require(observer.ended.first)
    #expect(observation.end == .response(statusCode: tapped.status))
    #expect(observation.request.url == request.url?.absoluteString)
    #expect(observation.request.method == request.httpMethod)
    #expect(observation.request.serverAddress == "127.0.0.1")
    #expect(observation.request.serverPort == origin.port)
    #expect(observation.request.client == "test")
    #expect(observation.duration > .zero)
    let sent = tappedWire.first?.body.count ?? 0
    #expect(observation.requestBodySize == Int64(sent))
    // Of a chunked body only what passes the client in one piece, or is counted by Foundation, is known.
    let isKnown = testCase.path != "/chunked" || Self.countsChunks(testCase)
    #expect(observation.responseBodySize == (isKnown ? Int64(tapped.body.count) : nil))
  }

  /// Where Foundation on Linux tells the length of a body without Content-Length.
  static func countsChunks(_ testCase: Case) -> Bool {
    testCase.kind == .download ? testCase.style == .delegate : testCase.style != .delegate
  }
}
