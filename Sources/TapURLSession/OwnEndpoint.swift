import TapCore
import TapLibc

/// The address of the app's own endpoint, by which a scrape of the app by itself is recognized.
///
/// Only the URL of a request is known when the tap decides whether to record it, not yet its peer's address.
/// So another name that resolves to this machine is not recognized.
package struct OwnEndpoint: Sendable {
  let port: Int
  private let address: IPAddress?

  /// - Parameter host: the numeric address that the endpoint listens at.
  package init(host: String, port: Int) { (self.port, address) = (port, IPAddress(host)) }

  /// Whether the host of a URL leads to the endpoint, in any form that libcurl takes for an address or as a
  /// name of this machine.
  package func isNamed(by host: String) -> Bool {
    var name = host.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    if name == Self.machineName { return true }
    // RFC 6761, section 6.3.
    let isLocalhost = name == "localhost" || name.hasSuffix(".localhost")
    guard let address, let named = isLocalhost ? .loopback : IPAddress(name) else { return false }
    // Linux connects a client of the unspecified address to the loopback.
    let isLoopback = named.isLoopback || named.isUnspecified
    if address.isLoopback { return isLoopback }
    return address.isUnspecified ? isLoopback || IPAddress.ofInterfaces.contains(named) : address == named
  }

  private static var machineName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0, name[0] != 0 else { return nil }
    return name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0).lowercased() } }
  }
}

/// An IPv6 address, or an IPv4 one that is mapped to IPv6 (RFC 4291, section 2.5.5.2).
private struct IPAddress: Hashable {
  private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
  static let loopback = IPAddress(bytes: mappedPrefix + [127, 0, 0, 1])

  private let bytes: [UInt8]

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads what getaddrinfo(3) takes for an address: `127.1` and `0x7f000001` too. `nil` for a name.
  init?(_ text: String) {
    guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(text, nil, &hints, &list) == 0, let list else { return nil }
    defer { freeaddrinfo(list) }
    self.init(list.pointee.ai_addr)
  }

  /// `nil` for an address of another family.
  private init?(_ address: UnsafeMutablePointer<sockaddr>?) {
    guard let address else { return nil }
    let memory = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      let address = memory.loadUnaligned(as: sockaddr_in.self).sin_addr
      bytes = Self.mappedPrefix + withUnsafeBytes(of: address, Array.init)
    case AF_INET6:
      bytes = withUnsafeBytes(of: memory.loadUnaligned(as: sockaddr_in6.self).sin6_addr, Array.init)
    default: return nil
    }
  }

  private var isMapped: Bool { bytes.starts(with: Self.mappedPrefix) }

  var isLoopback: Bool {
    isMapped ? bytes[12] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }

  var isUnspecified: Bool { bytes.dropFirst(isMapped ? 12 : 0).allSatisfy { $0 == 0 } }

  /// The addresses of this machine now.
  static var ofInterfaces: Set<IPAddress> {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    return Set(
      sequence(first: list, next: { $0?.pointee.ifa_next }).compactMap { IPAddress($0?.pointee.ifa_addr) })
  }
}
