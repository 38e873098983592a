import Synchronization
package import TapCore
import TapLibc

/// What the kernel has said of libcurl's connections, by their local port.
///
/// All calls are on the queue on which Foundation drives its transfers. libcurl opens and closes its sockets
/// there and nowhere else, so a descriptor cannot become that of another connection between the check and the
/// read.
package final class Connections: Sendable {
  private final class Connection {
    let peer: TransferInfo.Peer
    var descriptor: Int32 = -1
    /// The last reading and its time. `nil` if that was before the connection was known here.
    var last: TCPInfo?
    var lastRead = Instant.never
    /// A request with a body used it. From then on each end is read, because the phases of an upload need the
    /// number of segments that had arrived before it.
    var hasUploads = false

    init(to peer: TransferInfo.Peer, last: TCPInfo?) { (self.peer, self.last) = (peer, last) }
  }

  private let connections = Mutex<[Int: Connection]>([:])
  private static let limit = 1_024
  /// The least nanoseconds between two readings of a connection with short transfers.
  private static let pause: Int64 = 1_000_000_000

  package init() {}

  /// The result of a reading.
  package enum Result {
    case read(TCPInfo.Reading)
    /// There is no connection, or no need to read.
    case none
    /// The socket is not found, or the kernel does not know it.
    case unknown
    /// The kernel's info cannot be of this connection. `isLast`: it is not believed from now on.
    case contradiction(isLast: Bool)
  }

  /// Reads what the kernel knows of the connection over which a transfer went.
  ///
  /// - Parameter find: Finds the socket of the transfer by its local port, unless the one that was known
  ///   before still has that port.
  package func read(
    _ transfer: borrowing TransferInfo, at now: Instant, socket find: (Int) -> Int32?
  ) -> Result {
    guard TCPInfo.isUsed, transfer.preTransfer > 0, let port = transfer.localPort, port > 0,
      let peer = transfer.peer
    else { return .none }
    let isNew = transfer.connectionCount ?? 0 > 0
    let isUpload = transfer.sentBytes ?? 0 > 0
    let isDue = isUpload || transfer.elapsed >= transfer.resolution
    return connections.withLock { connections in
      var known = isNew ? nil : connections[port]
      if known?.peer != peer { known = nil }
      if let known, !isDue, !known.hasUploads, now.nanoseconds &- known.lastRead.nanoseconds < Self.pause {
        return .none
      }
      let old = known.flatMap { localPort(of: $0.descriptor) == port ? $0.descriptor : nil }
      guard let descriptor = old ?? find(port), var info = TCPInfo(of: descriptor) else {
        connections[port] = nil
        return .unknown
      }
      guard
        info.agrees(with: transfer)
          || info.agrees(with: transfer, after: max(0, Instant.now.nanoseconds - now.nanoseconds))
      else {
        connections[port] = nil
        Witness.kernel.noteContradiction()
        return .contradiction(isLast: Witness.kernel.rejectIfContradicted())
      }
      if transfer.statusCode ?? 0 > 0 { Witness.kernel.noteAgreement() }
      info.discardUnknown(in: transfer)
      let connection = known ?? Connection(to: peer, last: isNew ? TCPInfo() : nil)
      if known == nil {
        if connections.count >= Self.limit { connections = [:] }
        connections[port] = connection
      }
      (connection.descriptor, connection.lastRead) = (descriptor, now)
      connection.hasUploads = connection.hasUploads || isUpload
      defer { connection.last = info }
      return .read(TCPInfo.Reading(info: info, previous: connection.last))
    }
  }
}

/// The port of a socket of IPv4 or IPv6.
func localPort(of descriptor: Int32) -> Int? { port { getsockname(descriptor, $0, $1) } }

/// The port to which such a socket is connected.
func peerPort(of descriptor: Int32) -> Int? { port { getpeername(descriptor, $0, $1) } }

private func port(_ name: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> Int?
{
  var (storage, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
  let result = withUnsafeMutablePointer(to: &storage) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name($0, &length) }
  }
  guard result == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else { return nil }
  // At the same offset for both families (RFC 3493, section 3.3, keeps `sin_port` and `sin6_port` alike on
  // Linux).
  return withUnsafeBytes(of: storage) { Int(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
}

/// Counts the transfers of a configuration's sessions, to prove for most of them that they did not wait for a
/// connection.
///
/// A transfer waits only if the session's other transfers have taken all connections that one host gets
/// (`httpMaximumConnectionsPerHost`). While there are no more transfers than that, none waits, whatever their
/// hosts. One count and one instant do for that: the cost does not depend on how many transfers there are.
final class TransferCount: Sendable {
  private struct State {
    var count = 0
    /// The least of the sessions' limits.
    var limit = Int.max
    /// When there were last more transfers than connections.
    var lastExceeded: Instant?
  }

  private let state = Mutex(State())

  /// A transfer begins. `limit` is the most connections of its session to a host; 0 or less is no limit.
  func enter(limit: Int, at now: Instant) {
    state.withLock { state in
      if limit > 0 { state.limit = min(state.limit, limit) }
      state.count += 1
      if state.count > state.limit { state.lastExceeded = now }
    }
  }

  /// A transfer that began at an instant ends. Returns whether there were never more transfers than
  /// connections meanwhile.
  func leave(at now: Instant, since start: Instant) -> Bool {
    state.withLock { state in
      if state.count > state.limit { state.lastExceeded = now }
      state.count -= 1
      return state.lastExceeded.map { $0 < start } ?? true
    }
  }
}
