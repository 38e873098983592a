#if canImport(Glibc)
  import Glibc
#endif

/// A loopback port that refuses every connection for as long as this object lives.
package final class ClosedPort: Sendable {
  /// The port that the system chose.
  package let port: Int
  private let descriptor: Int32

  /// Takes a free port.
  package init() throws {
    (descriptor, port) = try LoopbackSocket.bind(listens: false)
  }

  deinit { close(descriptor) }
}
