import Dispatch
import TapCore
import TapLibc

/// An accepted socket with its dispatch sources and the state machine that decides what happens on it. Only the
/// event loop uses it. No call blocks, and none raises SIGPIPE.
final class Connection {
  /// Counts the connections of an event loop. Unlike a descriptor, a number is never used again, so that a late event
  /// or answer finds no other connection.
  typealias ID = UInt64

  let id: ID
  let descriptor: Int32
  var state: ConnectionState

  /// A request that a handler answers.
  struct Place {
    let id: UInt64
    let route: EndpointRoute
    let start: ContinuousClock.Instant
    let cancel: @Sendable () -> Void

    var isScrape: Bool { route.scrapes != nil }
  }

  /// The request that has a place among those in flight.
  var place: Place?
  /// The body that is being sent, and whether it is a scrape's.
  var body: (id: UnsentBodies.ID, isScrape: Bool)?
  /// Whether the last read did not block, so that another one may find more.
  var mayHaveInput = false
  var isReadQueued = false
  private(set) var isClosed = false
  let reading: DescriptorSource

  private let queue: DispatchQueue
  private var writing: DescriptorSource?

  /// Takes ownership of the descriptor. The callback runs on the queue.
  init(
    id: ID, descriptor: Int32, state: ConnectionState, queue: DispatchQueue, onReadable: @escaping () -> Void
  ) {
    self.id = id
    self.descriptor = descriptor
    self.state = state
    self.queue = queue
    reading = DescriptorSource(
      DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue), onEvent: onReadable)
  }

  /// Starts or stops the events that the socket takes bytes again.
  func watchWriting(_ isWanted: Bool, onWritable: @autoclosure () -> () -> Void) {
    if isWanted, writing == nil, !isClosed {
      writing = DescriptorSource(
        DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue), onEvent: onWritable())
    }
    writing?.watch(isWanted)
  }

  /// - Returns: `false` if no bytes have arrived.
  func receive(into buffer: inout [UInt8]) -> Bool {
    do throws(System.Failure) {
      let count = try System.uninterrupted {
        buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      }
      if count > 0 { state.received(buffer[..<count]) } else { state.inputEnded() }
    } catch {
      if error == .again { return false }
      state.failed()
    }
    return true
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

  func endOutput() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Cancels the sources, then closes the descriptor. After a reset, what the peer has not read is lost, and the peer learns so.
  func close(reset: Bool, then completion: @escaping () -> Void) {
    guard !isClosed else { return }
    isClosed = true
    if reset {
      var linger = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
    let closing: () -> Void = { [descriptor] in
      System.close(descriptor)
      completion()
    }
    guard let writing else { return reading.cancel(then: closing) }
    writing.cancel { [reading] in reading.cancel(then: closing) }
  }
}
