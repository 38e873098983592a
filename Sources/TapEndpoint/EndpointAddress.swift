import TapCore
import TapLibc

/// The TCP address that an endpoint listens at.
public struct EndpointAddress: Sendable, Equatable, CustomStringConvertible {
  /// Without brackets.
  package let host: String
  /// The port. That of a running endpoint is never 0.
  public let port: Int

  /// An address and a port. The host is a numeric address (IPv6 with or without brackets), or a name that
  /// resolves to one. For port 0 the system chooses a free port, which ``Endpoint/address`` has then.
  public static func tcp(host: String, port: Int) -> EndpointAddress {
    let host = host.hasPrefix("[") ? HostText.parse(host) ?? host : host
    // A machine may resolve localhost to ::1 first, and a scraper of 127.0.0.1 would find nothing.
    let isLocal = host.isEqualIgnoringASCIICase(to: "localhost")
    return EndpointAddress(host: isLocal ? "127.0.0.1" : host, port: port)
  }

  /// A port of 127.0.0.1, which only processes on the same machine reach.
  public static func loopback(port: Int) -> EndpointAddress { .tcp(host: "127.0.0.1", port: port) }

  /// `127.0.0.1:9464` or `[::1]:9464`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether other machines may reach the address. It has to be a numeric one, as it is once it is bound.
  package var isReachableFromNetwork: Bool {
    !(host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127."))
  }
}

/// The address in the socket API.
extension EndpointAddress {
  /// The first address of the host (RFC 6724), with the port, for bind(2).
  func resolved() throws(EndpointError) -> (family: Int32, bytes: [UInt8]) {
    guard (0...65535).contains(port) else {
      throw EndpointError(
        .invalidConfiguration, "invalid port: \(port) (choose one of 1 to 65535, or 0 for a free one)")
    }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = ListeningSocket.stream
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    defer { if let list { freeaddrinfo(list) } }
    // The resolver takes an empty name for every address of the machine, and ends a name at a NUL.
    guard !host.isEmpty, !host.utf8.contains(0), getaddrinfo(host, String(port), &hints, &list) == 0,
      let first = list?.pointee
    else {
      throw EndpointError(
        .addressNotAvailable, "unknown host: \(host) (use an address of this machine, such as 127.0.0.1)")
    }
    let bytes = UnsafeRawBufferPointer(start: first.ai_addr, count: Int(first.ai_addrlen))
    return (first.ai_family, Array(bytes))
  }

  /// The address of a socket's own end.
  init?(localOf descriptor: Int32) { self.init { getsockname(descriptor, $0, $1) } }

  /// The address of its other end.
  init?(peerOf descriptor: Int32) { self.init { getpeername(descriptor, $0, $1) } }

  private init?(name: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout.size(ofValue: storage))
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var port = [CChar](repeating: 0, count: Int(NI_MAXSERV))
    let isKnown = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        name(address, &length) == 0
          && getnameinfo(
            address, length, &host, socklen_t(host.count), &port, socklen_t(port.count),
            NI_NUMERICHOST | NI_NUMERICSERV) == 0
      }
    }
    guard isKnown else { return nil }
    self = .tcp(host: Self.text(host), port: Int(Self.text(port)) ?? 0)
  }

  private static func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
