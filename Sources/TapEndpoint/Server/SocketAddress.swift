#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

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

  /// The TCP addresses of a host, in the order in which they should be tried (RFC 6724). Empty if its name does
  /// not resolve.
  ///
  /// - Parameter isPassive: whether the addresses are to listen at, and not to connect to.
  static func resolve(host: String, port: Int, isPassive: Bool = false) -> [SocketAddress] {
    // The resolver takes an empty name for every address of the machine, and ends a name at a NUL.
    guard !host.isEmpty, !host.utf8.contains(0) else { return [] }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = stream
    hints.ai_flags = isPassive ? AI_PASSIVE | AI_NUMERICSERV : AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let info = next?.pointee {
      next = info.ai_next
      addresses.append(
        SocketAddress(
          family: info.ai_family, type: info.ai_socktype, protocolNumber: info.ai_protocol,
          bytes: Array(UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))))
    }
    return addresses
  }

  /// The address of a Unix socket; `nil` if the path is empty, has a NUL or is too long for one.
  static func unix(path: String) -> SocketAddress? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // One byte is left for the NUL at the end.
    guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0)
    else {
      return nil
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return SocketAddress(
      family: AF_UNIX, type: stream, protocolNumber: 0, bytes: withUnsafeBytes(of: &address) { Array($0) })
  }

  // MARK: System calls

  /// Makes a socket that does not block: its descriptor, or -1 and `errno`.
  func makeSocket() -> Int32 {
    let descriptor = socket(family, type, protocolNumber)
    if descriptor >= 0 { Socket.configure(descriptor) }
    return descriptor
  }

  /// Binds a socket: 0, or -1 and `errno`.
  func bind(_ descriptor: Int32) -> Int32 {
    withPointer { systemBind(descriptor, $0, $1) }
  }

  /// Begins to connect a socket: 0, or -1 and `errno`.
  func connect(_ descriptor: Int32) -> Int32 {
    withPointer { systemConnect(descriptor, $0, $1) }
  }

  private func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
      return body(address, socklen_t(bytes.count))
    }
  }

  // MARK: As text

  /// The address that a socket is bound to.
  static func local(_ descriptor: Int32) -> EndpointAddress? {
    name(of: descriptor) { getsockname($0, $1, $2) }
  }

  /// The address of the other end.
  static func peer(_ descriptor: Int32) -> EndpointAddress? {
    name(of: descriptor) { getpeername($0, $1, $2) }
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

  /// Whether the text is an IPv4 address.
  static func isIPv4(_ text: String) -> Bool {
    var address = in_addr()
    return !text.utf8.contains(0) && inet_pton(AF_INET, text, &address) == 1
  }

  /// Whether the text is an IPv6 address, without a zone.
  static func isIPv6(_ text: String) -> Bool {
    var address = in6_addr()
    return !text.utf8.contains(0) && inet_pton(AF_INET6, text, &address) == 1
  }
}

// Their names are hidden by the methods above.
private func systemBind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32
{
  bind(descriptor, address, length)
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t)
  -> Int32
{
  connect(descriptor, address, length)
}
