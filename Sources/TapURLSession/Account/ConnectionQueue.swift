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
/// with it, in whatever order libcurl tries those that wait (`process_pending_handles` in its `multi.c`). So a turn is when the
/// transfer before ended on the same connection, which is known by its local port. Where that cannot be known (the connection is
/// new, a transfer of the session has gone elsewhere by a redirect, or is not ours to see), the wait is unknown, and never wrong.
final class ConnectionQueue: Sendable {
  /// One transfer among those of its session. What changes of it is under the lock of the queue.
  final class Place: @unchecked Sendable {
    fileprivate let session: SessionTransfers
    fileprivate let host: Host
    /// The transfers to the same host, once the session has more than a host gets connections.
    fileprivate var line: Line?
    /// Alive as long as the transfer has its place: its `MetricsURLProtocol` leaves before it releases the loader. A weak
    /// reference would make each use of the object slower.
    fileprivate unowned(unsafe) let loader: URLProtocol
    /// All connections were taken when it came.
    fileprivate var mayWait = false
    fileprivate var isCertain = true

    fileprivate init(in session: SessionTransfers, host: Host, loader: URLProtocol) {
      self.session = session
      self.host = host
      self.loader = loader
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
    /// It got its turn then, or at once if that was before it came.
    case until(Instant)
    /// It left without a turn.
    case whole
    case unknown
  }

  /// The transfers of a session to one host and port. Under the lock of the queue.
  fileprivate final class Line {
    private(set) var places: [Place] = []
    private let limit: Int
    /// When the last transfer over a connection ended, by the connection's local port.
    private var ends: [Int: Instant] = [:]
    /// Ports of closed connections stay until there are so many.
    private let endLimit: Int

    init(limit: Int) {
      self.limit = limit
      endLimit = max(64, limit > Int.max / 4 ? .max : 4 * limit)
    }

    /// As many transfers as there may be connections are under way.
    var isFull: Bool { limit > 0 && places.count >= limit }

    func add(_ place: Place) {
      place.line = self
      places.append(place)
    }

    /// Takes a transfer out, and gives its wait, if it had one.
    func remove(_ place: Place, at now: Instant, _ account: TransferAccount?) -> Wait {
      places.removeAll { $0 === place }
      guard let account else { return .unknown }
      guard account.hasStarted else { return isFull ? .whole : .unknown }
      guard let port = account.localPort, port > 0 else { return .unknown }
      let turn = ends[port]
      if turn == nil, ends.count >= endLimit, let oldest = ends.min(by: { $0.value < $1.value }) {
        ends[oldest.key] = nil
      }
      ends[port] = now
      return turn.map { .until($0) } ?? .unknown
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
      _ place: Place, at now: Instant, strays: Bool, _ own: TransferAccount?, _ account: CurlAccount?
    ) -> Wait {
      guard let line = place.line else {
        few.removeAll { $0 === place }
        return .none
      }
      let wait = line.remove(place, at: now, own)
      if line.places.isEmpty { lines[place.host] = nil }
      guard waitingCount > 0 else { return .none }
      if strays || hasStray(account) {
        // No turn of the session's transfers is certain any more.
        place.isCertain = false
        for other in lines.values.lazy.flatMap(\.places) { other.isCertain = false }
      }
      guard place.mayWait else { return .none }
      waitingCount -= 1
      return place.isCertain && !strays ? wait : .unknown
    }

    /// Whether a transfer has followed a redirect, and may be at another host.
    private func hasStray(_ account: CurlAccount?) -> Bool {
      lines.values.contains { line in
        guard let account else { return !line.places.isEmpty }
        return line.places.contains { account.redirectCount(of: $0.loader) ?? 0 > 0 }
      }
    }
  }

  private let sessions = Mutex<[SessionTransfers]>([])
  /// How many sessions without transfers are kept at most.
  private static let idleLimit = 8

  /// A transfer begins. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - loader: Its owner must leave before releasing it.
  ///   - limit: The session's `httpMaximumConnectionsPerHost`.
  func enter(
    _ loader: URLProtocol, session: URLSession, host: Host, limit: Int
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
      let place = Place(in: transfers, host: host, loader: loader)
      transfers.add(place, limit: limit)
      return place
    }
  }

  /// A transfer has ended, and its connection is free for the next one. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent again
  ///     after a challenge.
  ///   - own: The transfer's account.
  ///   - account: Reads whether other transfers have followed a redirect.
  func leave(
    _ place: Place, at now: Instant, strays: Bool, own: TransferAccount?, account: CurlAccount?
  ) -> Wait {
    sessions.withLock { _ in
      place.session.remove(place, at: now, strays: strays, own, account)
    }
  }
}
