/// An HTTP server under a test's control, byte for byte, on a free loopback port. It stops with its last
/// reference.
///
/// Every connection has a thread of its own and blocking sockets: simple to reason about, and misbehaviour
/// (a reset, a torn body, a silence) is one step of an answer.
package final class Origin: Sendable {
  /// Chooses the answer to a request.
  package typealias Script = @Sendable (OriginRequest) -> [OriginStep]

  /// The port that the system chose.
  package let port: Int
  private let listener: Listener

  /// Starts to listen and answer.
  ///
  /// - Parameters:
  ///   - keepsRequests: Whether ``requests`` is filled: not where memory is measured.
  ///   - greeting: What every connection gets before its first request is read.
  package init(keepsRequests: Bool = true, greeting: [OriginStep] = [], _ script: @escaping Script) throws {
    let (descriptor, port) = try LoopbackSocket.bind(listens: true)
    self.port = port
    let listener = Listener(descriptor, keepsRequests: keepsRequests, greeting: greeting)
    self.listener = listener
    Thread.detachNewThread { listener.accept(script) }
  }

  deinit { listener.stop() }

  /// Closes the listener and every connection.
  package func stop() { listener.stop() }

  /// The requests that arrived whole so far, in their order.
  package var requests: [OriginRequest] { listener.state.withLock { $0.requests } }

  package var connectionCount: Int { listener.state.withLock { $0.connections.count } }

  package func url(_ path: String = "/") -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: "/")
  }
}

/// What the threads of an ``Origin`` share.
private final class Listener: Sendable {
  struct State {
    var requests: [OriginRequest] = []
    var connections: Set<Int32> = []
    var isStopped = false
  }

  let state = Mutex(State())
  private let descriptor: Int32
  private let keepsRequests: Bool
  private let greeting: [OriginStep]

  init(_ descriptor: Int32, keepsRequests: Bool, greeting: [OriginStep]) {
    (self.descriptor, self.keepsRequests, self.greeting) = (descriptor, keepsRequests, greeting)
  }

  func stop() {
    // Under the lock, so that no descriptor is closed and reused meanwhile.
    state.withLock { state in
      if state.isStopped { return }
      state.isStopped = true
      shutdown(descriptor, Int32(SHUT_RDWR))
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  func accept(_ script: @escaping Origin.Script) {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      guard connection >= 0 else { break }
      let isWanted = state.withLock { state in
        if state.isStopped { return false }
        state.connections.insert(connection)
        return true
      }
      guard isWanted else {
        close(connection)
        break
      }
      Thread.detachNewThread { [self] in
        LoopbackSocket.serve(connection, greeting: greeting) { request in
          if keepsRequests { state.withLock { $0.requests.append(request) } }
          return script(request)
        }
        _ = state.withLock { $0.connections.remove(connection) }
        close(connection)
      }
    }
    // Accepting ends because of `stop`, which holds the lock until it is done with the listener.
    state.withLock { _ in }
    close(descriptor)
  }
}

/// A request as it came over the wire.
package struct OriginRequest: Sendable, Equatable {
  package var method: String
  package var target: String
  /// Names in lower case; a repeated header keeps its last value.
  package var headers: [String: String]
  package var body: [UInt8]

  /// The target without its query.
  package var path: String { String(target.prefix { $0 != "?" }) }
}

/// One step of an answer.
package enum OriginStep: Sendable {
  case send([UInt8])
  /// Waits until the test lets the answer go on (or a deadline ends the test).
  case hold(Gate)
  /// Waits until the client has sent something more, and reads nothing of it.
  case arrival
  case think(Int)
  /// Opens the gate: the answer has come to this step.
  case signal(Gate)
  /// Passes bytes on between the client and a port of this machine, until one of them closes.
  case forward(to: Int)
  case close
  /// Breaks the connection with a TCP reset.
  case reset

  package static func text(_ text: String) -> OriginStep { .send(Array(text.utf8)) }

  /// A head with a length, and less of a body.
  package static let torn = OriginStep.text("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")

  package static func redirect(_ status: String = "302 Found", to url: String?, body: String = "") -> Self {
    .response(status, headers: url.map { [("Location", $0)] } ?? [], body: Array(body.utf8))
  }

  /// A whole response with a Content-Length.
  package static func response(
    _ status: String = "200 OK", headers: [(String, String)] = [], body: [UInt8] = [], head: Bool = false
  ) -> OriginStep {
    .send(Self.head(status, headers + [("Content-Length", "\(body.count)")]) + (head ? [] : body))
  }

  /// A response in chunks of at most this many bytes.
  package static func chunked(
    _ status: String = "200 OK", headers: [(String, String)] = [], body: [UInt8], chunk: Int
  ) -> OriginStep {
    var bytes = head(status, headers + [("Transfer-Encoding", "chunked")])
    var rest = body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(chunk)
      rest = rest.dropFirst(chunk)
      bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8)
    }
    return .send(bytes + Array("0\r\n\r\n".utf8))
  }

  private static func head(_ status: String, _ headers: [(String, String)]) -> [UInt8] {
    Array("HTTP/1.1 \(status)\r\n\(headers.map { "\($0): \($1)\r\n" }.joined())\r\n".utf8)
  }
}
