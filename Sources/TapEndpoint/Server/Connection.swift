import Dispatch

/// An accepted socket with its dispatch sources and the state machine that decides what happens on it. Only the
/// event loop uses it.
final class Connection {
  /// Counts the connections of an event loop. Unlike a descriptor, a number is never used again, so that a late event
  /// or answer finds no other connection.
  typealias ID = UInt64

  let id: ID
  let descriptor: Int32
  var state: ConnectionState
  /// The request that is counted in ``EventLoop/requestsInFlight``. The connection has the place, not the handler, so
  /// that a handler that does not return cannot keep it.
  var placedRequest: UInt64?
  /// The task of an asynchronous handler.
  var task: Task<Void, Never>?
  /// Whether the last read did not block, so that another one may find more.
  var mayHaveInput = false
  /// Whether another read is in the queue.
  var isReadQueued = false
  private(set) var isClosed = false
  /// The events that the socket can be read.
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
  func watchWriting(_ isWanted: Bool, onWritable: @escaping () -> Void) {
    if isWanted, writing == nil, !isClosed {
      writing = DescriptorSource(
        DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue), onEvent: onWritable)
    }
    writing?.watch(isWanted)
  }

  /// Cancels the sources, then closes the descriptor.
  func close(reset: Bool, then completion: @escaping () -> Void) {
    guard !isClosed else { return }
    isClosed = true
    if reset { Socket.closeByReset(descriptor) }
    let closing: () -> Void = { [descriptor] in
      closeDescriptor(descriptor)
      completion()
    }
    guard let writing else { return reading.cancel(then: closing) }
    writing.cancel { [reading] in reading.cancel(then: closing) }
  }
}
