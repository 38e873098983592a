/// One request of a random load: what is asked for, how, and whether the app changes its mind.
package struct RandomRequest: Sendable {
  /// What the server makes of the request: the last part of its path.
  package enum Answer: String, CaseIterable, Sendable {
    case sized, chunked, missing, failing, moved, reset, short, slow, trickling, hanging, refused
  }

  package enum Kind: CaseIterable, Sendable {
    case data, upload, uploadFile, download

    package var sendsBody: Bool { self == .upload || self == .uploadFile }
  }

  /// How the app learns of the end.
  package enum Style: CaseIterable, Sendable { case async, handler, delegate }

  package let id: Int
  package let answer: Answer
  package let kind: Kind
  package let style: Style
  package let isCancelled: Bool
  package let method: String

  package init(id: Int, using generator: inout some RandomNumberGenerator) {
    self.id = id
    let kind = Kind.allCases.randomElement(using: &generator) ?? .data
    let style = Style.allCases.randomElement(using: &generator) ?? .async
    isCancelled = Self.canCancel(kind, style) && Int.random(in: 0..<3, using: &generator) == 0
    let others = Answer.allCases.filter { $0 != .hanging && Self.isSafe($0, kind) }
    // Half of the rest is plain: what else happens is to happen between that.
    let other = Bool.random(using: &generator) ? .sized : others.randomElement(using: &generator) ?? .sized
    answer = isCancelled ? .hanging : other
    (self.kind, self.style) = (kind, style)
    method = kind.sendsBody ? "POST" : Int.random(in: 0..<10, using: &generator) == 0 ? "HEAD" : "GET"
  }

  /// What ends or stops the whole process without the tap too is left out: to cancel
  /// - a task that comes to its end at that moment, of whose end Foundation then cannot find whom to tell
  ///   (`URLSession.behaviour(for:)`): without the tap, only what would never end is cancelled;
  /// - a task whose delegate is asked about a redirect;
  /// - a Swift task while its request runs (`CancelState.activate`): the cancel holds the lock of the task
  ///   and waits for Foundation's queue, on which the end waits for that lock;
  /// - an upload of a file, which is still being read (`_EasyHandle.unpauseSend()`).
  package static func canCancel(_ kind: Kind, _ how: Style) -> Bool { how != .async && kind != .uploadFile }

  /// A refused connection fails while an upload's file is being read, as a cancel does.
  package static func isSafe(_ end: Answer, _ kind: Kind) -> Bool { end != .refused || kind != .uploadFile }

  package func urlRequest(port: Int, closedPort: Int) -> URLRequest {
    let port = answer == .refused ? closedPort : port
    let url = URL(string: "http://127.0.0.1:\(port)/\(id)/\(answer.rawValue)")
    return with(URLRequest(url: url ?? URL(fileURLWithPath: "/"))) { $0.httpMethod = method }
  }

  private static let body = [UInt8](repeating: UInt8(ascii: "x"), count: 2_000)

  /// The server's side.
  package static func steps(for request: OriginRequest) -> [OriginStep] {
    let parts = request.path.split(separator: "/")
    guard parts.count == 2, let answer = Answer(rawValue: String(parts[1])) else { return [.close] }
    let isHead = request.method == "HEAD"
    switch answer {
    case .sized: return [.response(body: body, head: isHead)]
    case .chunked: return isHead ? [.response(head: true)] : [.chunked(body: body, chunk: 700)]
    case .missing: return [.response("404 Not Found", body: body, head: isHead)]
    case .failing: return [.response("500 Internal Server Error", body: body, head: isHead)]
    case .moved: return [.redirect(to: "/\(parts[0])/sized")]
    case .reset: return [.text("HTTP/1.1 200 OK\r\nContent-"), .reset]
    case .short: return [.torn, .close]
    case .slow: return [.think(100), .response(body: body, head: isHead)]
    case .trickling:
      let head = OriginStep.text("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
      return isHead ? [head] : [head, .think(100), .send(body)]
    // The rest never comes: the client's cancel closes the connection.
    case .hanging:
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n"
      return [.text(isHead ? head : head + "\r\nonly this")]
    case .refused: return [.close]
    }
  }
}
