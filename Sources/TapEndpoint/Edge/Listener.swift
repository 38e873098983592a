import Dispatch

/// A listening socket with its dispatch source. Only the event loop touches it.
final class Listener {
  let socket: ListeningSocket
  private let source: any DispatchSourceRead
  private var isPaused = false

  /// Takes the socket over. The callback comes on the queue.
  init(_ socket: ListeningSocket, queue: DispatchQueue, onReadable: @escaping () -> Void) {
    self.socket = socket
    source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    source.setEventHandler(handler: onReadable)
    source.activate()
  }

  /// Leaves clients in the system's queue: there is no descriptor for them.
  func pause() {
    guard !isPaused else { return }
    isPaused = true
    source.suspend()
  }

  func resume() {
    guard isPaused else { return }
    isPaused = false
    source.resume()
  }

  func close(then completion: @escaping () -> Void) {
    let socket = socket
    source.setCancelHandler {
      socket.close()
      completion()
    }
    source.cancel()
    resume()
  }
}
