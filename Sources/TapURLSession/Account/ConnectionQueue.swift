import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How long the transfers of the process wait for a connection, where libcurl does not say it (before 8.6).
///
/// A session opens `httpMaximumConnectionsPerHost` connections to a host and port; by HTTP/1.x each serves one transfer at a
/// time. Below that number a transfer does not wait; above it, turns come first in, first out, one at each end
/// (`process_pending_handles` in libcurl's `multi.c`). Where a turn cannot be known (a transfer of the session has gone
/// elsewhere by a redirect, or is not ours to see), it is unknown, and never wrong.
enum ConnectionQueue {
  /// One transfer among those of its session to a host and port.
  final class Place: Sendable {
    fileprivate struct State: @unchecked Sendable {
      /// Read on Foundation's queue alone.
      weak var loader: URLProtocol?
      /// When the transfer got its turn, or `nil` while it waits.
      var turn: Instant?
      var hasWaited = false
      var isCertain = true
    }

    fileprivate let session: ObjectIdentifier
    fileprivate let host: Host
    fileprivate let state: Mutex<State>

    fileprivate init(session: ObjectIdentifier, host: Host, loader: URLProtocol, turn: Instant?) {
      self.session = session
      self.host = host
      state = Mutex(State(loader: loader, turn: turn, hasWaited: turn == nil))
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

  /// The transfers of a session to one host and port, in the order of their arrival.
  private struct Line {
    var active: [Place] = []
    var waiting: [Place] = []

    var isEmpty: Bool { active.isEmpty && waiting.isEmpty }
    var all: [Place] { active + waiting }

    /// Takes a transfer out. The first that waits gets the turn of one that had one.
    mutating func remove(_ place: Place, at now: Instant) {
      waiting.removeAll { $0 === place }
      guard let index = active.firstIndex(where: { $0 === place }) else { return }
      active.remove(at: index)
      guard !waiting.isEmpty else { return }
      let next = waiting.removeFirst()
      next.state.withLock { $0.turn = now }
      active.append(next)
    }

    /// Whether a transfer has followed a redirect, and may be at another host.
    func hasStray(_ account: CurlAccount?) -> Bool {
      active.contains { place in
        guard let account, let loader = place.state.withLock({ $0.loader }) else { return true }
        return account.redirectCount(of: loader) ?? 0 > 0
      }
    }
  }

  private static let sessions = Mutex<[ObjectIdentifier: [Host: Line]]>([:])

  /// A transfer begins. On Foundation's queue.
  ///
  /// - Parameter limit: The session's `httpMaximumConnectionsPerHost`.
  static func enter(
    _ loader: URLProtocol, session: URLSession, host: Host, limit: Int, at now: Instant
  ) -> Place {
    let session = ObjectIdentifier(session)
    return sessions.withLock { sessions in
      var line = sessions[session]?[host] ?? Line()
      let hasRoom = limit <= 0 || line.active.count < limit
      let place = Place(session: session, host: host, loader: loader, turn: hasRoom ? now : nil)
      if hasRoom { line.active.append(place) } else { line.waiting.append(place) }
      sessions[session, default: [:]][host] = line
      return place
    }
  }

  /// A transfer has ended, and the next one gets its turn. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent again
  ///     after a challenge.
  ///   - account: Tells of other transfers whether they have followed a redirect.
  static func leave(
    _ place: Place, at now: Instant, strays: Bool, account: CurlAccount?
  ) -> Wait {
    sessions.withLock { sessions in
      guard var lines = sessions[place.session], var line = lines[place.host] else { return .unknown }
      line.remove(place, at: now)
      lines[place.host] = line.isEmpty ? nil : line
      let waited = ([place] + lines.values.flatMap(\.all)).filter { $0.state.withLock { $0.hasWaited } }
      if !waited.isEmpty, strays || lines.values.contains(where: { $0.hasStray(account) }) {
        for other in waited { other.state.withLock { $0.isCertain = false } }
      }
      sessions[place.session] = lines.isEmpty ? nil : lines
      return place.state.withLock { state in
        guard state.hasWaited else { return .none }
        guard state.isCertain, !strays else { return .unknown }
        return state.turn.map { .until($0) } ?? .whole
      }
    }
  }
}
