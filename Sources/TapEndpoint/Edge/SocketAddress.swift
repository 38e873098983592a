#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Addresses of sockets, between Swift and the system.
enum SocketAddress {
  /// The address that a socket is bound to.
  static func local(_ descriptor: Int32) -> EndpointAddress? {
    name(of: descriptor) { getsockname($0, $1, $2) }
  }

  /// The address of the other end.
  static func peer(_ descriptor: Int32) -> EndpointAddress? {
    name(of: descriptor) { getpeername($0, $1, $2) }
  }

  /// Calls the body with the address of a Unix socket, or returns `nil` if the path is too long for one.
  static func withUnix<Result>(
    path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // One byte is left for the NUL at the end.
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0)
    else {
      return nil
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  private static func name(
    of descriptor: Int32,
    by call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> EndpointAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: storage))
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard call(descriptor, address, &length) == 0 else { return nil }
        return endpointAddress(UnsafeRawPointer(storage), family: Int32(address.pointee.sa_family), length)
      }
    }
  }

  private static func endpointAddress(
    _ address: UnsafeRawPointer, family: Int32, _ length: socklen_t
  ) -> EndpointAddress? {
    if family == AF_UNIX {
      let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
      let path = UnsafeRawBufferPointer(start: address + offset, count: max(0, Int(length) - offset))
      return .unix(path: String(decoding: path.prefix { $0 != 0 }, as: UTF8.self))
    }
    guard family == AF_INET || family == AF_INET6 else { return nil }
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard
      getnameinfo(
        address.assumingMemoryBound(to: sockaddr.self), length, &host, socklen_t(host.count), nil, 0,
        NI_NUMERICHOST) == 0
    else { return nil }
    // The port is at the same place in the addresses of both families.
    let port = Int(UInt16(bigEndian: address.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port))
    let text = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return .tcp(host: text, port: port)
  }
}
