import Synchronization
package import TapCore

#if canImport(Musl)
  import Musl
#elseif canImport(Glibc)
  import Glibc
#endif

/// Finds the sockets of libcurl's connections, and reads what the kernel knows of them.
///
/// Foundation has taken a transfer out of libcurl's multi handle when it reports the end, and CURLINFO_ACTIVESOCKET says
/// nothing any more. CURLINFO_LOCAL_PORT and CURLINFO_PRIMARY_IP still do, and identify the socket among those of the process.
///
/// All calls are on the queue on which Foundation drives its transfers. libcurl opens and closes its sockets there and nowhere
/// else, so a descriptor cannot become that of another connection between the check and the read.
package final class ConnectionSockets: Sendable {
  private struct Connection {
    let descriptor: Int32
    let peerAddress: String
    let peerPort: Int
    /// What was read last, and when. `nil` if that was before the connection was known here.
    var last: TCPInfo?
    var lastRead: Instant?
    /// A request with a body went over it. From then on each end is read, since the phases of an upload need to know how many
    /// segments had arrived before it.
    var hasUploads = false
  }

  private struct State {
    /// By local port.
    var connections: [Int: Connection] = [:]
    /// The descriptor that was found last. A connection in place of a closed one often has its number.
    var recent: Int32 = firstDescriptor
  }

  private let state = Mutex(State())
  /// Below are the standard streams.
  private static let firstDescriptor: Int32 = 3
  private static let descriptorLimit: Int32 = 4_096
  /// A search ends after so many numbers in a row without a descriptor: the kernel gives out the lowest that is free.
  private static let gapLimit = 256
  static let connectionLimit = 1_024
  /// A connection whose transfers are short is read once in so many nanoseconds.
  private static let pause: Int64 = 1_000_000_000

  package init() {}

  /// What the kernel knows of the connection over which a transfer went. `nil` if the socket is not found, or if there is no
  /// need to read.
  package func read(_ account: TransferAccount, at now: Instant) -> TCPInfo.Reading? {
    guard account.preTransfer > 0, let port = account.localPort, port > 0, let peerPort = account.peerPort,
      let peerAddress = account.peerAddress
    else { return nil }
    return state.withLock { state in
      let isNew = account.connectionCount ?? 0 > 0
      var known = isNew ? nil : state.connections[port]
      if let found = known, found.peerPort != peerPort || found.peerAddress != peerAddress { known = nil }
      let isUpload = account.sentBytes ?? 0 > 0
      let isDue =
        isUpload || account.elapsed >= TCPInfo.resolution * 1_000 || known?.hasUploads == true
        || known?.lastRead.map { now.nanoseconds &- $0.nanoseconds >= Self.pause } ?? true
      guard isDue else { return nil }

      // Its socket may have been closed, and another connection opened out of sight.
      if let found = known, found.descriptor >= 0, Self.localPort(of: found.descriptor) != port {
        known = nil
      }
      if known == nil, state.connections.count >= Self.connectionLimit { state.connections = [:] }
      var connection =
        known
        ?? Connection(
          descriptor: Self.descriptor(
            localPort: port, peerAddress: peerAddress, peerPort: peerPort, near: state.recent),
          peerAddress: peerAddress, peerPort: peerPort, last: isNew ? TCPInfo.untouched : nil)
      defer { state.connections[port] = connection }
      connection.lastRead = now
      connection.hasUploads = connection.hasUploads || isUpload
      // The entry stays where no socket was found: the next end need not search again.
      guard connection.descriptor >= 0, let info = TCPInfo(of: connection.descriptor) else { return nil }
      state.recent = connection.descriptor
      defer { connection.last = info }
      return TCPInfo.Reading(info: info, previous: connection.last)
    }
  }

  /// The descriptor of a connection, or -1.
  private static func descriptor(
    localPort: Int, peerAddress: String, peerPort: Int, near recent: Int32
  ) -> Int32 {
    func matches(_ descriptor: Int32) -> Bool {
      guard Self.localPort(of: descriptor) == localPort, let peer = SocketName(peerOf: descriptor) else {
        return false
      }
      return peer.port == peerPort && peer.address == peerAddress
    }
    if matches(recent) { return recent }
    var gap = 0
    for descriptor in firstDescriptor..<descriptorLimit {
      if matches(descriptor) { return descriptor }
      gap = errno == EBADF ? gap + 1 : 0
      if gap == gapLimit { break }
    }
    return -1
  }

  private static func localPort(of descriptor: Int32) -> Int? {
    errno = 0
    return SocketName(of: descriptor)?.port
  }
}

extension TCPInfo {
  /// Of a connection that has just been opened.
  fileprivate static var untouched: TCPInfo {
    var info = TCPInfo()
    info.receivedSegments = 0
    return info
  }
}

/// The address and the port of one side of a socket, of IPv4 or IPv6.
private struct SocketName {
  private var storage = sockaddr_storage()

  init?(of descriptor: Int32) {
    self.init(descriptor, getsockname)
  }

  init?(peerOf descriptor: Int32) {
    self.init(descriptor, getpeername)
  }

  private init?(
    _ descriptor: Int32,
    _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) {
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
    }
    guard result == 0, isIPv4 || isIPv6 else { return nil }
  }

  private var isIPv4: Bool { storage.ss_family == sa_family_t(AF_INET) }
  private var isIPv6: Bool { storage.ss_family == sa_family_t(AF_INET6) }

  /// At the same place for both families (RFC 3493, section 3.3, keeps `sin_port` and `sin6_port` alike on Linux).
  var port: Int {
    withUnsafeBytes(of: storage) { Int(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
  }

  /// As libcurl writes it: `inet_ntop` without a scope.
  var address: String? {
    withUnsafeBytes(of: storage) { bytes in
      guard let base = bytes.baseAddress else { return nil }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
        guard let target = text.baseAddress else { return nil }
        let family = isIPv4 ? AF_INET : AF_INET6
        let source = base + (isIPv4 ? 4 : 8)
        guard inet_ntop(family, source, target, socklen_t(text.count)) != nil else { return nil }
        return String(cString: target)
      }
    }
  }
}
