import TapCore
import TapLibc

/// An address of the socket API, and the kind of socket that it is for.
struct SocketAddress: Sendable {
  private let family: Int32
  private let type: Int32
  private let protocolNumber: Int32
  private let bytes: [UInt8]

  #if canImport(Glibc)
    private static let stream = Int32(SOCK_STREAM.rawValue)
  #else
    private static let stream = SOCK_STREAM
  #endif

  /// A TCP address to listen at, the first of its host (RFC 6724); `nil` if its name does not resolve.
  static func tcp(host: String, port: Int) -> SocketAddress? {
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
      family: first.ai_family, type: first.ai_socktype, protocolNumber: first.ai_protocol,
      bytes: Array(UnsafeRawBufferPointer(start: first.ai_addr, count: Int(first.ai_addrlen))))
  }

  /// The address of a Unix socket; `nil` if the path is empty, has a NUL or is too long for one.
  static func unix(path: String) -> SocketAddress? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // One byte is left for the NUL at the end.
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0)
    else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return SocketAddress(
      family: AF_UNIX, type: stream, protocolNumber: 0, bytes: withUnsafeBytes(of: &address) { Array($0) })
  }

  /// Makes a socket that does not block: its descriptor, or -1 and `errno`.
  func makeSocket() -> Int32 {
    // On Linux both flags at once, so that no child process can start in between, which would keep the port.
    #if canImport(Glibc)
      let type = type | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    #elseif canImport(Musl)
      let type = type | SOCK_CLOEXEC | SOCK_NONBLOCK
    #endif
    guard let descriptor = try? System.aboveStandard(socket(family, type, protocolNumber)) else { return -1 }
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

  /// The address that a socket is bound to.
  static func local(_ descriptor: Int32) -> EndpointAddress? {
    name { getsockname(descriptor, $0, $1) }
  }

  /// The address of the other end.
  static func peer(_ descriptor: Int32) -> EndpointAddress? {
    name { getpeername(descriptor, $0, $1) }
  }

  private static func name(
    by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> EndpointAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: storage))
    return withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        call(address, &length) == 0 ? endpointAddress(address, length) : nil
      }
    }
  }

  private static func endpointAddress(
    _ address: UnsafePointer<sockaddr>, _ length: socklen_t
  ) -> EndpointAddress? {
    let raw = UnsafeRawPointer(address)
    if Int32(address.pointee.sa_family) == AF_UNIX {
      let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
      let path = UnsafeRawBufferPointer(start: raw + offset, count: max(0, Int(length) - offset))
      return .unix(path: String(decoding: path.prefix { $0 != 0 }, as: UTF8.self))
    }
    // It fails for any other family but those of TCP.
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard
      getnameinfo(address, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0
    else { return nil }
    // The port is at the same place in the addresses of both families.
    let port = Int(UInt16(bigEndian: raw.assumingMemoryBound(to: sockaddr_in.self).pointee.sin_port))
    let text = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return .tcp(host: text, port: port)
  }

  static func isIPv4(_ text: String) -> Bool { isAddress(text, AF_INET) }

  /// Whether the text is an IPv6 address, without a zone.
  static func isIPv6(_ text: String) -> Bool { isAddress(text, AF_INET6) }

  private static func isAddress(_ text: String, _ family: Int32) -> Bool {
    // Room for the address of either family.
    var address = in6_addr()
    return !text.utf8.contains(0) && inet_pton(family, text, &address) == 1
  }
}
