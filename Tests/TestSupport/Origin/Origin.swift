package import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// An HTTP server under a test's control, byte for byte, on a free loopback port.
///
/// Every connection has a thread of its own and blocking sockets: simple to reason about, and misbehaviour
/// (a reset, a torn body, a silence) is one step of an answer.
package final class Origin: Sendable {
  /// Chooses the answer to a request.
  package typealias Script = @Sendable (OriginRequest) -> [OriginStep]

  private struct State {
    var requests: [OriginRequest] = []
    var connections: Set<Int32> = []
    var isStopped = false
  }

  /// The port that the system chose.
  package let port: Int
  private let listener: Int32
  private let keepsRequests: Bool
  private let greeting: [OriginStep]
  private let state = Mutex(State())

  /// Starts to listen and answer.
  ///
  /// - Parameters:
  ///   - keepsRequests: Whether ``requests`` is filled: not where memory is measured.
  ///   - greeting: What every connection gets before its first request is read.
  package init(
    keepsRequests: Bool = true, greeting: [OriginStep] = [], _ script: @escaping Script
  ) throws {
    self.keepsRequests = keepsRequests
    self.greeting = greeting
    (listener, port) = try LoopbackSocket.bind(listens: true)
    Thread.detachNewThread { [self] in accept(script) }
  }

  /// Closes the listener and every connection.
  package func stop() {
    // Under the lock, so that no descriptor is closed and given to somebody else meanwhile.
    state.withLock { state in
      if state.isStopped { return }
      state.isStopped = true
      shutdown(listener, Int32(SHUT_RDWR))
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  /// The requests that arrived whole so far, in their order.
  package var requests: [OriginRequest] { state.withLock { $0.requests } }

  /// A URL of this server.
  package func url(_ path: String = "/") -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: "/")
  }

  private func note(_ request: OriginRequest) {
    if keepsRequests { state.withLock { $0.requests.append(request) } }
  }

  private func accept(_ script: @escaping Script) {
    while true {
      let connection = Glibc.accept(listener, nil, nil)
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
      Thread.detachNewThread { [weak self, greeting] in
        LoopbackSocket.serve(connection, greeting: greeting) { request in
          self?.note(request)
          return script(request)
        }
        _ = self?.state.withLock { $0.connections.remove(connection) }
        close(connection)
      }
    }
    // Accepting ends because of `stop`, which holds the lock until it is done with the listener.
    state.withLock { _ in }
    close(listener)
  }
}
