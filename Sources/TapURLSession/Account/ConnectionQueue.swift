import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How long the transfers of a configuration's sessions wait for a connection, where libcurl does not say it (before 8.6).
///
/// A session opens `httpMaximumConnectionsPerHost` connections to a host and port; by HTTP/1.x each serves one transfer at a
/// time. Below that number a transfer does not wait; above it, turns come first in, first out, one at each end
/// (`process_pending_handles` in libcurl's `multi.c`). Where a turn cannot be known (a transfer of the session has gone
/// elsewhere by a redirect, or is not ours to see), it is unknown, and never wrong.
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
    /// When the transfer got its turn, or `nil` while it waits.
    fileprivate var turn: Instant?
    fileprivate var hasWaited = false
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
    /// It got its turn then.
    case until(Instant)
    /// It left without a turn.
    case whole
    case unknown
  }

  /// The transfers of a session to one host and port, in the order of their arrival. Under the lock of the queue.
  fileprivate final class Line {
    private(set) var active: [Place] = []
    private(set) var waiting: [Place] = []

    var isEmpty: Bool { active.isEmpty && waiting.isEmpty }

    func add(_ place: Place, limit: Int, at now: Instant) {
      if limit <= 0 || active.count < limit { place.turn = place.turn ?? now }
      if place.turn == nil { waiting.append(place) } else { active.append(place) }
    }

    /// Takes a transfer out. The first that waits gets the turn of one that had one.
    func remove(_ place: Place, at now: Instant) {
      guard let index = active.firstIndex(where: { $0 === place }) else {
        return waiting.removeAll { $0 === place }
      }
      active.remove(at: index)
      guard !waiting.isEmpty else { return }
      let next = waiting.removeFirst()
      next.turn = now
      active.append(next)
    }
  }

  /// The transfers of one session. Under the lock of the queue.
  fileprivate final class SessionTransfers: @unchecked Sendable {
    let session: ObjectIdentifier
    /// All transfers, as long as they are not more than one host gets connections: then none waits, whatever the hosts.
    private var few: [Place] = []
    /// The transfers by host, while they are more.
    private var lines: [Host: Line] = [:]
    /// The transfers under way that have waited, or wait. While there are none, nothing else has to be looked at.
    private var waitedCount = 0

    init(session: ObjectIdentifier) { self.session = session }

    var isEmpty: Bool { few.isEmpty && lines.isEmpty }

    func add(_ place: Place, limit: Int, at now: Instant) {
      if lines.isEmpty, limit <= 0 || few.count < limit {
        place.turn = now
        return few.append(place)
      }
      for place in few { addToLine(place, limit: limit, at: now) }
      few = []
      addToLine(place, limit: limit, at: now)
      guard place.turn == nil else { return }
      place.hasWaited = true
      waitedCount += 1
    }

    private func addToLine(_ place: Place, limit: Int, at now: Instant) {
      let line = lines[place.host] ?? Line()
      lines[place.host] = line
      place.line = line
      line.add(place, limit: limit, at: now)
    }

    func remove(_ place: Place, at now: Instant) {
      guard let line = place.line else { return few.removeAll { $0 === place } }
      line.remove(place, at: now)
      if line.isEmpty { lines[place.host] = nil }
    }

    func wait(of place: Place, strays: Bool, _ account: CurlAccount?) -> Wait {
      guard waitedCount > 0 else { return .none }
      if strays || hasStray(account) {
        // No turn of the session's transfers is certain any more.
        place.isCertain = false
        for line in lines.values {
          for other in line.active { other.isCertain = false }
          for other in line.waiting { other.isCertain = false }
        }
      }
      guard place.hasWaited else { return .none }
      waitedCount -= 1
      guard place.isCertain, !strays else { return .unknown }
      return place.turn.map { .until($0) } ?? .whole
    }

    /// Whether a transfer has followed a redirect, and may be at another host.
    private func hasStray(_ account: CurlAccount?) -> Bool {
      lines.values.contains { line in
        guard let account else { return !line.active.isEmpty }
        return line.active.contains { account.redirectCount(of: $0.loader) ?? 0 > 0 }
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
    _ loader: URLProtocol, session: URLSession, host: Host, limit: Int, at now: Instant
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
      transfers.add(place, limit: limit, at: now)
      return place
    }
  }

  /// A transfer has ended, and the next one gets its turn. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent again
  ///     after a challenge.
  ///   - account: Reads whether other transfers have followed a redirect.
  func leave(_ place: Place, at now: Instant, strays: Bool, account: CurlAccount?) -> Wait {
    sessions.withLock { _ in
      place.session.remove(place, at: now)
      return place.session.wait(of: place, strays: strays, account)
    }
  }
}
