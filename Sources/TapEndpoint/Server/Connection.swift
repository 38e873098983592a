import TapCore
import TapLibc

/// An accepted socket with the state machine that decides what happens on it. Only the
/// event loop uses it. No call blocks, and none raises SIGPIPE.
final class Connection {
  /// Counts the connections of an event loop. Unlike a descriptor, a number is never used again, so that a
  /// late event or answer finds no other connection.
  typealias ID = Poller.ID

  let id: ID
  let descriptor: Int32
  var state: ConnectionState

  /// A request that a deferred handler answers.
  struct DeferredRequest {
    let id: UInt64
    let route: EndpointRoute
    let start: ContinuousClock.Instant
  }

  /// The request that waits until the files of credentials are read.
  var unauthenticated: (request: EndpointRequest, id: UInt64, route: EndpointRoute)?
  /// The request in flight whose handler runs.
  var deferred: DeferredRequest?
  /// The body that is being sent, and whether it is a scrape's.
  var body: (id: UnsentBodies.ID, isScrape: Bool)?
  var events: Poller.Events = .input
  private(set) var isClosed = false

  /// Takes ownership of the descriptor.
  init(id: ID, descriptor: Int32, state: ConnectionState) {
    (self.id, self.descriptor, self.state) = (id, descriptor, state)
  }

  func receive(into buffer: inout [UInt8]) {
    do throws(System.Failure) {
      let count = try System.uninterrupted {
        buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      }
      if count > 0 { state.received(buffer[..<count]) } else { state.inputEnded() }
    } catch {
      if error != .again { state.failed() }
    }
  }

  func write(at time: EventTime) {
    #if canImport(Darwin)
      // The socket has SO_NOSIGPIPE.
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    do throws(System.Failure) {
      let count = try System.uninterrupted {
        state.output.withNext { send(descriptor, $0.baseAddress, $0.count, flags) }
      }
      state.wrote(count, at: time)
    } catch {
      if error == .again { state.isWriteBlocked = true } else { state.failed() }
    }
  }

  func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// After a reset, what the peer has not read is lost, and the peer learns so.
  func close(reset: Bool) {
    isClosed = true
    if reset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
    System.close(descriptor)
  }
}
