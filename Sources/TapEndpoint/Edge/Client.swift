import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An accepted socket with its dispatch sources and its connection. Only the event loop touches it.
final class Client {
  /// Who tells that the socket can be read.
  enum Reading {
    case source
    case busyClients
    case nobody
  }

  /// Names a client: its slot alone is used again after its end.
  struct Key: Sendable, Hashable {
    let slot: Int
    let serial: UInt64
  }

  let key: Key
  let descriptor: Int32
  var connection: Connection
  /// The request that holds one of the places of ``EventLoop/requestsInFlight``. The client has the place, not the
  /// handler, so that a handler that does not return cannot keep it.
  var placedRequest: UInt64?
  /// The handler that works, if it is an asynchronous one.
  var task: Task<Void, Never>?
  /// A streamed body that waits for room.
  var producer: CheckedContinuation<Bool, Never>?
  /// The client's place among the busy ones.
  var busyIndex: Int?
  private(set) var isClosed = false

  private let readSource: any DispatchSourceRead
  private var reading = Reading.source
  private var writeSource: (any DispatchSourceWrite)?
  private var isWriting = false
  private var lastActivity = (Connection.Activity.waiting, UInt64(0))

  /// Takes the descriptor over. The callback comes on the queue.
  init(
    key: Key, descriptor: Int32, connection: Connection, queue: DispatchQueue,
    onReadable: @escaping () -> Void
  ) {
    self.key = key
    self.descriptor = descriptor
    self.connection = connection
    readSource = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    readSource.setEventHandler(handler: onReadable)
    readSource.activate()
  }

  func read(by reading: Reading) {
    guard !isClosed, reading != self.reading else { return }
    if reading == .source { readSource.resume() }
    if self.reading == .source { readSource.suspend() }
    self.reading = reading
  }

  /// Whether the connection does something else than when this was asked last, or the same for a further
  /// request. Who sends a byte now and then for the same request does not.
  func takesUpActivity() -> Bool {
    let now = (connection.activity, connection.requestCount)
    defer { lastActivity = now }
    return now != lastActivity
  }

  /// Tells when the socket takes bytes again, or stops telling so.
  func watchWriting(_ isWriting: Bool, queue: DispatchQueue, onWritable: @escaping () -> Void) {
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

  /// Ends the sources, then closes the descriptor: as long as a source has it, its number must not be given
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
    guard let writeSource else { return cancel(readSource, isActive: reading == .source, then: closing) }
    let readSource = readSource
    let isReading = reading == .source
    cancel(writeSource, isActive: isWriting) { cancel(readSource, isActive: isReading, then: closing) }
  }
}

/// Cancels a source. A suspended one must not be released, and does not tell that it was cancelled before it
/// is resumed, which runs no other handler any more.
private func cancel(
  _ source: any DispatchSourceProtocol, isActive: Bool, then completion: @escaping () -> Void
) {
  source.setCancelHandler(handler: completion)
  source.cancel()
  if !isActive { source.resume() }
}

/// `close(2)`, whose name methods hide.
func closeDescriptor(_ descriptor: Int32) {
  close(descriptor)
}
