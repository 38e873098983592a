import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How long the transfers of a configuration's sessions wait for a connection, where libcurl does not say it (before 8.6).
///
/// A session opens `httpMaximumConnectionsPerHost` connections to a host and port; by HTTP/1.x each serves one transfer at a
/// time. Below that number a transfer does not wait. Above it, one that waits gets a connection as soon as another transfer is done
/// with it, in whatever order libcurl tries those that wait (`process_pending_handles` in its `multi.c`). So its turn is the end of
/// the previous transfer on its connection, which the local port identifies. The wait is unknown where the connection is new, where
/// a transfer of the session has followed a redirect, and where one of them is not visible to the tap.
final class ConnectionQueue: Sendable {
  /// One transfer among those of its session. What changes of it is under the lock of the queue.
  final class Place: @unchecked Sendable {
    fileprivate let queue: ConnectionQueue
    fileprivate let session: SessionTransfers
    fileprivate let host: Host
    fileprivate let start: Instant
    /// The transfers to the same host, once the session has more than a host gets connections.
    fileprivate var line: Line?
    /// Alive as long as the transfer has its place: its `MetricsURLProtocol` leaves before it releases the loader. A weak
    /// reference would make each use of the object slower.
    fileprivate unowned(unsafe) let loader: URLProtocol
    /// All connections were taken when it came.
    fileprivate var mayWait = false
    fileprivate var isCertain = true

    fileprivate init(
      of queue: ConnectionQueue, _ session: SessionTransfers, host: Host, start: Instant, loader: URLProtocol
    ) {
      self.queue = queue
      self.session = session
      self.host = host
      self.start = start
      self.loader = loader
    }

    /// The transfer has ended, and its connection is free for the next one. Gives its wait. On Foundation's queue.
    ///
    /// - Parameter strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent
    ///   again after a challenge.
    func leave(at now: Instant, strays: Bool, _ transfer: TransferAccount?) -> Wait {
      queue.sessions.withLock { _ in session.remove(self, at: now, strays: strays, transfer, queue.account) }
    }
  }

  /// A host and port.
  struct Host: Hashable, Sendable {
    let name: String
    let port: Int
  }

  /// What is known of a transfer's wait when it leaves.
  enum Wait: Hashable, Sendable {
    case none
    /// It got a connection after so many nanoseconds, of all since its start.
    case lasted(Int64, of: Int64)
    /// It left without one.
    case whole
    case unknown
  }

  /// The transfers of a session to one host and port. Under the lock of the queue.
  fileprivate final class Line {
    private var places: [ObjectIdentifier: Place] = [:]
    private let limit: Int
    /// When the last transfer over a connection ended, by the connection's local port.
    private var ends: [Int: Instant] = [:]

    init(limit: Int) { self.limit = limit }

    /// As many transfers as there may be connections are under way.
    var isFull: Bool { places.count >= limit }
    var isEmpty: Bool { places.isEmpty }
    var all: some Sequence<Place> { places.values }

    func add(_ place: Place) {
      place.line = self
      places[ObjectIdentifier(place)] = place
    }

    /// Takes a transfer out, and gives its wait, if it had one.
    func remove(_ place: Place, at now: Instant, _ transfer: TransferAccount?) -> Wait {
      places[ObjectIdentifier(place)] = nil
      guard let transfer else { return .unknown }
      guard transfer.hasStarted else { return isFull ? .whole : .unknown }
      guard let port = transfer.localPort, port > 0 else { return .unknown }
      let turn = ends[port]
      // Ports of closed connections stay until there are too many.
      if turn == nil, ends.count / 4 >= max(16, limit), let oldest = ends.min(by: { $0.value < $1.value }) {
        ends[oldest.key] = nil
      }
      ends[port] = now
      // A connection that the transfer has opened may have the port of one that was closed.
      guard let turn, transfer.connectionCount == 0 else { return .unknown }
      let start = place.start.nanoseconds
      return .lasted(max(0, turn.nanoseconds &- start), of: now.nanoseconds &- start)
    }
  }

  /// The transfers of one session. Under the lock of the queue.
  fileprivate final class SessionTransfers: @unchecked Sendable {
    let session: ObjectIdentifier
    /// All transfers, as long as they are not more than one host gets connections: then none waits, whatever the hosts.
    private var few: [Place] = []
    /// The transfers by host, while they are more.
    private var lines: [Host: Line] = [:]
    /// The transfers under way that may wait. While there are none, nothing else has to be looked at.
    private var waitingCount = 0

    init(session: ObjectIdentifier) { self.session = session }

    var isEmpty: Bool { few.isEmpty && lines.isEmpty }

    func add(_ place: Place, limit: Int) {
      if lines.isEmpty, limit <= 0 || few.count < limit { return few.append(place) }
      for place in few { line(of: place.host, limit).add(place) }
      few = []
      let line = line(of: place.host, limit)
      place.mayWait = line.isFull
      line.add(place)
      if place.mayWait { waitingCount += 1 }
    }

    private func line(of host: Host, _ limit: Int) -> Line {
      let line = lines[host] ?? Line(limit: limit)
      lines[host] = line
      return line
    }

    /// Takes a transfer out, and gives its wait.
    func remove(
      _ place: Place, at now: Instant, strays: Bool, _ transfer: TransferAccount?, _ account: CurlAccount
    ) -> Wait {
      guard let line = place.line else {
        few.removeAll { $0 === place }
        return .none
      }
      let wait = line.remove(place, at: now, transfer)
      if line.isEmpty { lines[place.host] = nil }
      let someMayWait = waitingCount > 0
      if place.mayWait { waitingCount -= 1 }
      if someMayWait, strays || hasStray(account) {
        // No turn of the session's transfers is certain any more.
        place.isCertain = false
        for other in lines.values.lazy.flatMap(\.all) { other.isCertain = false }
      }
      // Where it went on, it may have waited again.
      if strays { return .unknown }
      guard place.mayWait else { return .none }
      return place.isCertain ? wait : .unknown
    }

    /// Whether a transfer has followed a redirect, and may be at another host.
    private func hasStray(_ account: CurlAccount) -> Bool {
      lines.values.lazy.flatMap(\.all).contains { account.redirectCount(of: $0.loader) ?? 0 > 0 }
    }
  }

  private let account: CurlAccount
  private let sessions = Mutex<[SessionTransfers]>([])
  /// How many sessions without transfers are kept at most.
  private static let idleLimit = 8

  /// - Parameter account: Reads whether a transfer has followed a redirect.
  init(_ account: CurlAccount) { self.account = account }

  /// A transfer begins. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - loader: Its owner must leave before releasing it.
  ///   - now: When the transfer starts.
  ///   - limit: The session's `httpMaximumConnectionsPerHost`.
  func enter(
    _ loader: URLProtocol, at now: Instant, session: URLSession, host: Host, limit: Int
  ) -> Place {
    let identifier = ObjectIdentifier(session)
    return sessions.withLock { sessions in
      // A configuration has one session, most often. One without transfers may stand for a later one at the same address.
      let known = sessions.first { $0.session == identifier }
      let transfers = known ?? SessionTransfers(session: identifier)
      if known == nil {
        if sessions.count >= Self.idleLimit { sessions.removeAll { $0.isEmpty } }
        sessions.append(transfers)
      }
      let place = Place(of: self, transfers, host: host, start: now, loader: loader)
      transfers.add(place, limit: limit)
      return place
    }
  }
}
