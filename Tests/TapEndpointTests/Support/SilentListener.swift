import Glibc

/// A loopback port whose listener accepts nothing, and whose queue of clients is full: a further connection is not even
/// established, or where the system establishes it, not answered.
final class SilentListener {
  let port: Int
  private var descriptors: [Int32] = []

  init() throws {
    let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = socket(AF_INET, stream, 0)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    descriptors = [listener]
    guard isListening else { throw RawClient.Failure(description: "listen: \(errno)") }
    for _ in 0..<8 {
      let client = socket(AF_INET, stream | Int32(SOCK_NONBLOCK.rawValue), 0)
      descriptors.append(client)
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(client, $0, length) }
      }
    }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }
}
