import Synchronization
package import TapCore
import TapLibc

/// Finds the sockets of libcurl's connections, and reads what the kernel knows of them.
///
/// Foundation has taken a transfer out of libcurl's multi handle when it reports the end, and CURLINFO_ACTIVESOCKET says
/// nothing any more. CURLINFO_LOCAL_PORT and CURLINFO_PRIMARY_IP still do, and identify the socket among those of the process.
///
/// All calls are on the queue on which Foundation drives its transfers. libcurl opens and closes its sockets there and nowhere
/// else, so a descriptor cannot become that of another connection between the check and the read.
package final class ConnectionSockets: Sendable {
  /// The server's side of a connection.
  struct Peer: Equatable {
    let address: String
    let port: Int
  }

  /// What a descriptor is to a search.
  enum Sighting {
    case free, other, found
    /// The socket of the connection, which the peer has reset: the kernel knows its peer no more.
    case reset
  }

  private final class Connection {
    /// `nil` if no socket was found: the next end need not search again.
    let descriptor: Int32?
    let peer: Peer
    /// What was read last, and when. `nil` if that was before the connection was known here.
    var last: TCPInfo?
    var lastRead: Instant
    /// A request with a body went over it. From then on each end is read, since the phases of an upload need to know how many
    /// segments had arrived before it.
    var hasUploads = false

    init(descriptor: Int32?, peer: Peer, last: TCPInfo?, at now: Instant) {
      (self.descriptor, self.peer, self.last, lastRead) = (descriptor, peer, last, now)
    }
  }

  private struct State {
    /// By local port.
    var connections: [Int: Connection] = [:]
    /// The descriptor at which a search ended last. A connection in place of a closed one often has its number.
    var recent = firstDescriptor
  }

  private let state = Mutex(State())
  /// Below are the standard streams.
  static let firstDescriptor: Int32 = 3
  private static let descriptorLimit: Int32 = 4_096
  /// A search ends after so many numbers in a row without a descriptor: the kernel gives out the lowest that is free.
  static let gapLimit = 256
  static let connectionLimit = 1_024
  /// A connection whose transfers are short is read once in so many nanoseconds.
  private static let pause: Int64 = 1_000_000_000

  package init() {}

  /// What the kernel knows of the connection over which a transfer went. `nil` if the socket is not found, or if there is no
  /// need to read.
  package func read(_ account: borrowing TransferAccount, at now: Instant) -> TCPInfo.Reading? {
    guard account.preTransfer > 0, let port = account.localPort, port > 0, let peerPort = account.peerPort,
      let peerAddress = account.peerAddress
    else { return nil }
    let peer = Peer(address: peerAddress, port: peerPort)
    let isNew = account.connectionCount ?? 0 > 0
    let isUpload = account.sentBytes ?? 0 > 0
    let isDue = isUpload || account.elapsed >= account.resolution * 1_000
    return state.withLock { state in
      var known = isNew ? nil : state.connections[port]
      if let found = known, found.peer != peer { known = nil }
      if let found = known, !isDue, !found.hasUploads,
        now.nanoseconds &- found.lastRead.nanoseconds < Self.pause
      {
        return nil
      }
      // Its socket may have been closed, and another connection opened out of sight.
      if let descriptor = known?.descriptor, SocketName(descriptor, getsockname)?.port != port { known = nil }
      let connection =
        known
        ?? Connection(
          descriptor: Self.search(near: &state.recent) { Self.sighting(of: $0, from: port, to: peer) },
          peer: peer, last: isNew ? TCPInfo() : nil, at: now)
      if known == nil {
        if state.connections.count >= Self.connectionLimit { state.connections = [:] }
        state.connections[port] = connection
      }
      connection.lastRead = now
      connection.hasUploads = connection.hasUploads || isUpload
      guard let info = connection.descriptor.flatMap(TCPInfo.init(of:)) else { return nil }
      defer { connection.last = info }
      return TCPInfo.Reading(info: info, previous: connection.last)
    }
  }

  /// Searches the descriptors of the process for the one that is found, from where the last search ended.
  ///
  /// A connection that was reset ends the search: it keeps its socket until libcurl closes it, and Foundation delays that
  /// (`MultiHandle.scheduleClose(for:)` of swift-corelibs-foundation) until the end is reported.
  static func search(near recent: inout Int32, _ look: (Int32) -> Sighting) -> Int32? {
    var gap = 0
    for number in firstDescriptor - 1..<descriptorLimit {
      let descriptor = number < firstDescriptor ? recent : number
      let sighting = look(descriptor)
      gap = sighting == .free ? gap + 1 : 0
      if gap > gapLimit { return nil }
      guard sighting == .found || sighting == .reset else { continue }
      recent = descriptor
      return sighting == .found ? descriptor : nil
    }
    return nil
  }

  /// Looks at a descriptor, in search of the socket that has this local port and this peer.
  static func sighting(of descriptor: Int32, from port: Int, to peer: Peer) -> Sighting {
    guard let own = SocketName(descriptor, getsockname) else { return errno == EBADF ? .free : .other }
    guard own.port == port else { return .other }
    guard let other = SocketName(descriptor, getpeername) else {
      // A listener or a datagram socket may have the same port.
      return errno == ENOTCONN && TCPInfo(of: descriptor)?.isClosed == true ? .reset : .other
    }
    return other.port == peer.port && other.address == peer.address ? .found : .other
  }
}

/// The address and the port of one side of a socket, of IPv4 or IPv6.
private struct SocketName {
  private var storage = sockaddr_storage()

  /// - Parameter call: `getsockname` or `getpeername`.
  init?(
    _ descriptor: Int32,
    _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) {
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    // What is no internet address is no error of the call.
    errno = 0
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
    }
    guard result == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else { return nil }
  }

  /// At the same place for both families (RFC 3493, section 3.3, keeps `sin_port` and `sin6_port` alike on Linux).
  var port: Int {
    withUnsafeBytes(of: storage) { Int(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
  }

  /// As libcurl writes it: `inet_ntop` without a scope.
  var address: String? {
    withUnsafeBytes(of: storage) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
        let family = Int32(storage.ss_family)
        guard let base = bytes.baseAddress, let target = text.baseAddress,
          inet_ntop(family, base + (family == AF_INET ? 4 : 8), target, socklen_t(text.count)) != nil
        else { return nil }
        return String(cString: target)
      }
    }
  }
}

/// What the kernel knows of a TCP connection (`struct tcp_info` in `include/uapi/linux/tcp.h`), as far as it is used here.
///
/// Times are in microseconds. ``sinceDataSent`` and ``sinceDataReceived`` are as fine as the kernel's tick; pure
/// acknowledgements and keep-alive probes do not count as data.
package struct TCPInfo: Sendable, Hashable {
  /// `tcpi_state` is TCP_ESTABLISHED: neither side has closed the connection.
  var isEstablished = true
  /// `tcpi_state` is TCP_CLOSE: the connection was reset, or never opened.
  var isClosed = false
  /// `tcpi_last_data_sent`
  var sinceDataSent: Int64 = 0
  /// `tcpi_last_data_recv`
  var sinceDataReceived: Int64 = 0
  /// `tcpi_total_retrans`: how many segments were sent again since the connection was opened.
  var retransmittedSegments = 0
  /// `tcpi_min_rtt`: the least round trip of the last 300 s (`net.ipv4.tcp_min_rtt_wlen`). Not `tcpi_rtt`, which has up to
  /// 40 ms of the server in it: a server acknowledges a request together with its answer.
  var roundTrip: Int64?
  /// `tcpi_data_segs_in`: how many segments with data have arrived.
  var receivedSegments: Int? = 0

  /// Of a connection that has just been opened.
  init() {}

  /// Reads the structure as the kernel has filled it: an older kernel fills less. glibc's declaration ends before
  /// `tcpi_min_rtt`, so the values are read by their offsets.
  init?(_ bytes: UnsafeRawBufferPointer) {
    func number(at offset: Int) -> UInt32? {
      offset + 4 <= bytes.count ? bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) : nil
    }
    guard let sent = number(at: 44), let received = number(at: 52), let retransmitted = number(at: 100) else {
      return nil
    }
    (isEstablished, isClosed) = (bytes[0] == 1, bytes[0] == 7)
    sinceDataSent = Int64(sent) * 1_000
    sinceDataReceived = Int64(received) * 1_000
    retransmittedSegments = Int(retransmitted)
    // All bits are set as long as no round trip has been measured.
    roundTrip = number(at: 148).flatMap { $0 == .max ? nil : Int64($0) }
    receivedSegments = number(at: 152).map { Int($0) }
  }

  /// Asks the kernel. `nil` where the descriptor is no TCP socket, and where the kernel or a sandbox does not know the option.
  init?(of descriptor: Int32) {
    #if os(Linux)
      let info: TCPInfo? = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer in
        guard let base = buffer.baseAddress else { return nil }
        var count = socklen_t(buffer.count)
        // TCP_INFO is 11 on every Linux.
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), 11, base, &count) == 0 else { return nil }
        return TCPInfo(UnsafeRawBufferPointer(start: base, count: min(Int(count), buffer.count)))
      }
      guard let info else { return nil }
      self = info
    #else
      return nil
    #endif
  }

  /// What the kernel's clock cannot tell from 0, in microseconds: two ticks, and 10 ms at least.
  static let resolution: Int64 = {
    #if os(Linux)
      var tick = timespec()
      // The coarse clock advances with the ticks by which the kernel notes when data was sent.
      guard clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 else { return 20_000 }
      return max(10_000, 2 * Int64(tick.tv_nsec) / 1_000)
    #else
      return 20_000
    #endif
  }()
}

extension TCPInfo {
  /// What was read of a transfer's connection at its end, and before.
  package struct Reading: Sendable, Hashable {
    var info: TCPInfo
    /// At the connection's previous reading: all zero if the transfer has opened it, `nil` if that is unknown.
    var previous: TCPInfo?

    /// What was sent again since the previous reading.
    var retransmittedSegments: Int? {
      previous.map { max(0, info.retransmittedSegments - $0.retransmittedSegments) }
    }

    /// Nothing was sent again since the previous reading: the last data that was sent was sent for the first time.
    var hasNoRetransmission: Bool {
      info.retransmittedSegments == previous?.retransmittedSegments ?? 0
    }

    /// One segment with data has arrived since the previous reading, so the response came in it as a whole. The reading may
    /// have been before earlier responses: then there are more.
    var isOneSegment: Bool {
      guard let now = info.receivedSegments, let before = previous?.receivedSegments else { return false }
      return now - before == 1
    }
  }
}
