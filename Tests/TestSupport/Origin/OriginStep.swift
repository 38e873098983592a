/// One step of an answer.
package enum OriginStep: Sendable {
  /// Sends these bytes.
  case send([UInt8])
  /// Waits until the test lets the answer go on (or a deadline ends the test).
  case hold(Gate)
  /// Thinks for so many milliseconds.
  case think(Int)
  /// Tells the test that this point is reached.
  case signal(Gate)
  /// Closes the connection in order.
  case close
  /// Breaks the connection with a TCP reset.
  case reset

  /// Sends text.
  package static func text(_ text: String) -> OriginStep { .send(Array(text.utf8)) }

  /// A whole response with a Content-Length.
  package static func response(
    _ status: String = "200 OK", headers: [(String, String)] = [], body: [UInt8] = [], head: Bool = false
  ) -> OriginStep {
    var text = "HTTP/1.1 \(status)\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    text += "Content-Length: \(body.count)\r\n\r\n"
    return .send(Array(text.utf8) + (head ? [] : body))
  }

  /// A response in chunks of at most this many bytes.
  package static func chunked(
    _ status: String = "200 OK", headers: [(String, String)] = [], body: [UInt8], chunk: Int
  ) -> OriginStep {
    var text = "HTTP/1.1 \(status)\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    var bytes = Array((text + "Transfer-Encoding: chunked\r\n\r\n").utf8)
    var rest = body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(chunk)
      rest = rest.dropFirst(chunk)
      bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
    }
    return .send(bytes + Array("0\r\n\r\n".utf8))
  }
}
