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
  /// A streamed body that waits for room in the output.
  var producer: CheckedContinuation<Bool, Never>?
  /// Whether the last read did not block, so that another one may find more.
  var mayHaveInput = false
  /// Whether another read is in the queue.
  var isReadQueued = false
  private(set) var isClosed = false

  private let queue: DispatchQueue
  private let readSource: any DispatchSourceRead
  private var isReading = true
  private var writeSource: (any DispatchSourceWrite)?
  private var isWriting = false

  /// Takes ownership of the descriptor. The callback runs on the queue.
  init(
    id: ID, descriptor: Int32, state: ConnectionState, queue: DispatchQueue, onReadable: @escaping () -> Void
  ) {
    self.id = id
    self.descriptor = descriptor
    self.state = state
    self.queue = queue
    readSource = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    readSource.setEventHandler(handler: onReadable)
    readSource.activate()
  }

  /// Starts or stops the events that the socket can be read.
  func watchReading(_ isReading: Bool) {
    guard !isClosed, isReading != self.isReading else { return }
    self.isReading = isReading
    if isReading { readSource.resume() } else { readSource.suspend() }
  }

  /// Starts or stops the events that the socket takes bytes again.
  func watchWriting(_ isWriting: Bool, onWritable: @escaping () -> Void) {
    guard !isClosed, isWriting != self.isWriting else { return }
    self.isWriting = isWriting
    if let writeSource {
      if isWriting { writeSource.resume() } else { writeSource.suspend() }
    } else {
      let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler(handler: onWritable)
      source.activate()
      writeSource = source
    }
  }

  /// Cancels the sources, then closes the descriptor: as long as a source has it, its number must not be given
  /// to another file.
  func close(reset: Bool, then completion: @escaping () -> Void) {
    guard !isClosed else { return }
    isClosed = true
    task?.cancel()
    producer?.resume(returning: false)
    producer = nil
    if reset { Socket.closeByReset(descriptor) }
    let descriptor = descriptor
    let closing: () -> Void = {
      closeDescriptor(descriptor)
      completion()
    }
    guard let writeSource else { return Self.cancel(readSource, isActive: isReading, then: closing) }
    let readSource = readSource
    let isReading = isReading
    Self.cancel(writeSource, isActive: isWriting) {
      Self.cancel(readSource, isActive: isReading, then: closing)
    }
  }

  /// Cancels a source. A suspended one must not be released, and calls its cancel handler only once it is resumed,
  /// which runs no other handler any more.
  private static func cancel(
    _ source: any DispatchSourceProtocol, isActive: Bool, then completion: @escaping () -> Void
  ) {
    source.setCancelHandler(handler: completion)
    source.cancel()
    if !isActive { source.resume() }
  }
}
