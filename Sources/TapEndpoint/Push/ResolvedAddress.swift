#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// One of the addresses that a host's name resolves to, and the kind of socket for it.
struct ResolvedAddress: Sendable {
  let family: Int32
  let type: Int32
  /// The protocol.
  let number: Int32
  private let bytes: [UInt8]

  /// The addresses of a host, in the order in which they should be tried (RFC 6724).
  static func all(of host: String, port: Int) throws(PushError) -> [ResolvedAddress] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    #if canImport(Glibc)
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #else
      hints.ai_socktype = SOCK_STREAM
    #endif
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0 else {
      throw PushError(.unreachable, "unknown host: \(host)", isTransient: true)
    }
    defer { freeaddrinfo(list) }
    var addresses: [ResolvedAddress] = []
    var next = list
    while let info = next?.pointee {
      next = info.ai_next
      addresses.append(
        ResolvedAddress(
          family: info.ai_family, type: info.ai_socktype, number: info.ai_protocol,
          bytes: Array(UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))))
    }
    return addresses
  }

  /// Begins to connect a socket that does not block: 0, or -1 and `errno`.
  func connect(_ descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      begin(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}

/// `connect(2)`, whose name the method hides.
private func begin(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Int32 {
  guard let address else { return -1 }
  return connect(descriptor, address, length)
}
