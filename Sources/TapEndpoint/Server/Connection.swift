import TapCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An accepted socket, and the state machine that decides what happens on it. Only the event loop uses it. No call blocks,
/// and none raises SIGPIPE.
final class Connection {
  /// Counts the connections of an event loop. Unlike a descriptor, a number is never used again, so that a late answer
  /// finds no other connection.
  typealias ID = UInt64

  let id: ID
  let descriptor: Int32
  var state: ConnectionState
  /// The request that is counted in ``EventLoop/requestsInFlight``. The connection has the place, not the handler, so
  /// that a handler that does not return cannot keep it.
  var placedRequest: UInt64?
  /// The task of an asynchronous handler.
  var task: Task<Void, Never>?
  private(set) var isClosed = false

  /// Takes ownership of the descriptor.
  init(id: ID, descriptor: Int32, state: ConnectionState) {
    self.id = id
    self.descriptor = descriptor
    self.state = state
  }

  /// What poll(2) is to wait for. Without any event the socket is left out: its end would be one, again and again.
  var awaited: pollfd {
    let events = (state.wantsInput ? POLLIN : 0) | (state.wantsOutput ? POLLOUT : 0)
    return pollfd(fd: events == 0 ? -1 : descriptor, events: Int16(events), revents: 0)
  }

  /// Reads the bytes that have arrived.
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

  /// Sends the first bytes of the output.
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

  /// Ends the sending direction.
  func endOutput() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// After a reset, what the peer has not read is lost, and the peer learns so.
  func close(reset: Bool) {
    guard !isClosed else { return }
    isClosed = true
    if reset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
    System.close(descriptor)
  }
}
