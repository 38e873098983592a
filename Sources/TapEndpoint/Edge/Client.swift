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
  let id: UInt64
  let descriptor: Int32
  var connection: Connection
  /// The handler that works, if it is an asynchronous one.
  var task: Task<Void, Never>?
  /// A streamed body that waits for room.
  var producer: CheckedContinuation<Bool, Never>?
  private(set) var isClosed = false

  private let queue: DispatchQueue
  private let readSource: any DispatchSourceRead
  private var writeSource: (any DispatchSourceWrite)?
  private var isReading = true
  private var isWriting = false
  private let onWritable: () -> Void

  /// Takes the descriptor over. The callbacks come on the queue.
  init(
    id: UInt64, descriptor: Int32, connection: Connection, queue: DispatchQueue,
    onReadable: @escaping () -> Void, onWritable: @escaping () -> Void
  ) {
    self.id = id
    self.descriptor = descriptor
    self.connection = connection
    self.queue = queue
    self.onWritable = onWritable
    readSource = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    readSource.setEventHandler(handler: onReadable)
    readSource.activate()
  }

  /// Listens to what the connection wants to hear.
  func updateInterest() {
    guard !isClosed else { return }
    if connection.wantsInput != isReading {
      isReading.toggle()
      if isReading { readSource.resume() } else { readSource.suspend() }
    }
    guard connection.wantsOutput != isWriting else { return }
    isWriting.toggle()
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
    if reset { Socket.reset(descriptor) }
    let descriptor = descriptor
    let closing: () -> Void = {
      closeDescriptor(descriptor)
      completion()
    }
    // A suspended source must not be released: it is resumed once it is cancelled, which runs no handler but
    // the last.
    guard let writeSource else {
      readSource.setCancelHandler(handler: closing)
      readSource.cancel()
      if !isReading { readSource.resume() }
      return
    }
    let readSource = readSource
    let isReading = isReading
    writeSource.setCancelHandler {
      readSource.setCancelHandler(handler: closing)
      readSource.cancel()
      if !isReading { readSource.resume() }
    }
    writeSource.cancel()
    if !isWriting { writeSource.resume() }
  }
}

/// `close(2)`, whose name the methods above hide.
func closeDescriptor(_ descriptor: Int32) {
  close(descriptor)
}
