import Foundation
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request of the load: what is asked for, and how.
///
/// Left out is what ends or stops a process without a tap too: a cancel of a request that may be ending at that moment, or
/// of one that a Swift task waits for; redirects that are cancelled; uploads of files that fail.
struct SoakRequest: Sendable {
  /// What the server makes of it: the last part of its path.
  enum Answer: String, CaseIterable, Sendable {
    case sized, chunked, notFound, serverError, reset, short, slow, hanging, refused
  }

  enum Kind: CaseIterable, Sendable {
    case data, upload, download
  }

  enum Style: CaseIterable, Sendable {
    case async, handler, delegate
  }

  let answer: Answer
  let kind: Kind
  let style: Style

  /// Half of the requests go well; of what else may happen, each has its share.
  init(using generator: inout some RandomNumberGenerator) {
    answer =
      Bool.random(using: &generator) ? .sized : Answer.allCases.randomElement(using: &generator) ?? .sized
    kind = Kind.allCases.randomElement(using: &generator) ?? .data
    // What hangs is cancelled.
    let styles: [Style] = answer == .hanging ? [.handler, .delegate] : Style.allCases
    style = styles.randomElement(using: &generator) ?? .handler
  }

  /// After how long the app loses patience.
  var cancelDelay: Double? { answer == .hanging ? 0.05 : nil }

  func urlRequest(port: Int, closedPort: Int) -> URLRequest {
    let port = answer == .refused ? closedPort : port
    let url = URL(string: "http://127.0.0.1:\(port)/\(answer.rawValue)")
    var request = URLRequest(url: url ?? URL(fileURLWithPath: "/"))
    if kind == .upload { request.httpMethod = "POST" }
    return request
  }

  private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 2_000)

  /// The server's side.
  static func steps(for request: OriginRequest) -> [OriginStep] {
    if let steps = Burst.steps(for: request) { return steps }
    switch Answer(rawValue: String(request.path.dropFirst())) {
    case .sized: return [.response(body: body)]
    case .chunked: return [.chunked(body: body, chunk: 700)]
    case .notFound: return [.response("404 Not Found", body: body)]
    case .serverError: return [.response("500 Internal Server Error", body: body)]
    case .reset: return [.text("HTTP/1.1 200 OK\r\nContent-"), .reset]
    case .short: return [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), .close]
    case .slow: return [.think(100), .response(body: body)]
    // The rest never comes: the client's cancel closes the connection.
    case .hanging: return [.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")]
    case .refused, nil: return [.close]
    }
  }
}
