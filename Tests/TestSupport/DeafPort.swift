/// A loopback port that takes no further connection for as long as this object lives: the system drops the
/// first packet of each, since the queue of the listener is full.
package final class DeafPort: Sendable {
  /// The port that the system chose.
  package let port: Int
  private let descriptors: [Int32]

  package init() throws {
    let (listener, port) = try LoopbackSocket.bind(listens: true)
    // The least queue, which holds one connection.
    guard listen(listener, 0) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    (self.port, descriptors) = (port, [listener] + (0..<4).map { _ in LoopbackSocket.connect(to: port) })
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
