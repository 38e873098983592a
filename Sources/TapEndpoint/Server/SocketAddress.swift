import TapCore
import TapLibc

/// An address of the socket API.
struct SocketAddress: Sendable {
  private let family: Int32
  private let bytes: [UInt8]

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif

  init(_ address: EndpointAddress) throws(EndpointError) {
    switch address.kind {
    case .tcp(let host, let port):
      guard (0...65535).contains(port) else {
        throw EndpointError(
          .invalidConfiguration, "invalid port: \(port) (choose one of 1 to 65535, or 0 for a free one)")
      }
      // A machine may resolve localhost to ::1 first, where a scraper of 127.0.0.1 would find nothing.
      let name = host.isEqualIgnoringASCIICase(to: "localhost") ? "127.0.0.1" : host
      guard let resolved = Self.resolve(name, port) else {
        throw EndpointError(
          .addressNotAvailable, "unknown host: \(host) (use an address of this machine, such as 127.0.0.1)")
      }
      self = resolved
    case .unix(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = Array(path.utf8)
      // One byte is left for the NUL at the end.
      guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0)
      else {
        throw EndpointError(
          .invalidConfiguration, "invalid socket path: \(path) (choose one of 1 to 100 bytes)")
      }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      self.init(family: AF_UNIX, bytes: withUnsafeBytes(of: &address) { Array($0) })
    }
  }

  private init(family: Int32, bytes: [UInt8]) { (self.family, self.bytes) = (family, bytes) }

  /// The first address of a host (RFC 6724); `nil` if its name does not resolve.
  private static func resolve(_ host: String, _ port: Int) -> SocketAddress? {
    // The resolver takes an empty name for every address of the machine, and ends a name at a NUL.
    guard !host.isEmpty, !host.utf8.contains(0) else { return nil }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = stream
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list?.pointee else { return nil }
    defer { freeaddrinfo(list) }
    return SocketAddress(
      family: first.ai_family,
      bytes: Array(UnsafeRawBufferPointer(start: first.ai_addr, count: Int(first.ai_addrlen))))
  }

  /// Makes a socket that does not block: its descriptor, or -1 and `errno`.
  func makeSocket() -> Int32 {
    #if canImport(Darwin)
      let type = Self.stream
    #else
      // Both flags at once, so that no child process can start in between, which would keep the port.
      let type = Self.stream | O_CLOEXEC | O_NONBLOCK
    #endif
    guard let descriptor = try? System.aboveStandard(socket(family, type, 0)) else { return -1 }
    if descriptor >= 0 { Socket.configure(descriptor) }
    return descriptor
  }

  /// Calls bind(2) or connect(2): 0, or -1 and `errno`.
  func pass(_ descriptor: Int32, to call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
      return call(descriptor, address, socklen_t(bytes.count))
    }
  }

  // MARK: As text

  static func local(_ descriptor: Int32) -> EndpointAddress? { name { getsockname(descriptor, $0, $1) } }

  static func peer(_ descriptor: Int32) -> EndpointAddress? { name { getpeername(descriptor, $0, $1) } }

  /// `nil` for a Unix socket.
  private static func name(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> EndpointAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: storage))
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard call(address, &length) == 0, Int32(address.pointee.sa_family) != AF_UNIX else { return nil }
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
        let flags = NI_NUMERICHOST | NI_NUMERICSERV
        guard
          getnameinfo(address, length, &host, socklen_t(host.count), &port, socklen_t(port.count), flags) == 0
        else { return nil }
        return .tcp(host: text(host), port: Int(text(port)) ?? 0)
      }
    }
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
