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

  /// The request that has a place among those in flight, the path of its route, and the task of its handler.
  var place: (id: UInt64, path: String, task: Task<Void, Never>?)?
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

/// A dispatch source of a descriptor, which can be paused. Only the event loop uses it.
final class DescriptorSource {
  private let source: any DispatchSourceProtocol
  private var isWatching = true
  private var isCancelled = false

  /// The callback runs on the source's queue.
  init(_ source: any DispatchSourceProtocol, onEvent: @escaping () -> Void) {
    self.source = source
    source.setEventHandler(handler: onEvent)
    source.activate()
  }

  func watch(_ isWanted: Bool) {
    guard isWanted != isWatching, !isCancelled else { return }
    isWatching = isWanted
    if isWanted { source.resume() } else { source.suspend() }
  }

  /// Ends the events for good. Only when the callback runs may the descriptor be closed: as long as a source has it,
  /// its number must not be given to another file.
  func cancel(then completion: @escaping () -> Void) {
    source.setCancelHandler(handler: completion)
    source.cancel()
    // A suspended source must not be released, and calls its cancel handler only once it is resumed, which runs no other
    // handler any more.
    watch(true)
    isCancelled = true
  }
}

/// The open connections, and how many there may be: as many as configured, but fewer where the process runs out of descriptors.
///
/// The last descriptors are not for connections. The app needs some, and libdispatch ends the process when it
/// cannot make its event descriptors, or cannot open /proc to inspect its threads (on Linux, `_dispatch_workq_monitor_pools`).
struct ConnectionTable {
  private static let reserve = 32
  /// After this time the process may have descriptors again.
  private static let shortageDuration = Duration.seconds(5)

  var open: [Connection.ID: Connection] = [:]

  private let limit: Int
  /// How many connections the limits allow: that of the configuration, and that of descriptors.
  private(set) var maximum: Int
  /// How many connections there may be now.
  private(set) var capacity: Int
  /// The first descriptor of the reserve.
  private var reserveBegin = Int.max
  private var lastShortage: ContinuousClock.Instant?

  init(limit: Int) {
    self.limit = limit
    maximum = limit
    capacity = limit
  }

  /// The connection to close when there is no room for another. Never one whose handler works: these are bounded by the limits of
  /// requests, and so leave connections to scrapes.
  ///
  /// Only a new connection at a full table causes a scan, which takes less time than its accept with the default limit,
  /// and some 0.4 ms with 10,000 connections.
  func firstToClose(except kept: Connection?) -> Connection? {
    open.values.lazy.filter { $0 !== kept && $0.state.activity != .answering }
      .min { $0.state.closingOrder < $1.state.closingOrder }
  }

  /// Reads the limit of descriptors, which the app may change, and ends a shortage after its time.
  mutating func updateCapacity(at instant: ContinuousClock.Instant) {
    let count = Socket.descriptorLimit
    reserveBegin = count - min(Self.reserve, count / 4)
    maximum = max(min(limit, reserveBegin), 1)
    if let lastShortage, lastShortage.duration(to: instant) <= Self.shortageDuration { return }
    lastShortage = nil
    capacity = maximum
  }

  /// Notes the descriptor of a new connection. The system gives out the lowest one that is free: a high one means
  /// that all below are taken.
  mutating func noteAccepted(_ descriptor: Int32, at instant: ContinuousClock.Instant) {
    if Int(descriptor) >= reserveBegin { noteShortage(at: instant) }
  }

  /// Lowers the capacity below the present number of connections.
  mutating func noteShortage(at instant: ContinuousClock.Instant) {
    capacity = max(min(capacity, open.count - 1), 1)
    lastShortage = instant
  }
}
