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

  private struct Key: Hashable {
    let session: ObjectIdentifier
    let host: Host
  }

  private struct State {
    var lines: [Key: Line] = [:]
    /// The transfers under way that have waited, or wait. While there are none, nothing else has to be looked at.
    var waited = 0
  }

  private static let state = Mutex(State())

  /// A transfer begins. On Foundation's queue.
  ///
  /// - Parameter limit: The session's `httpMaximumConnectionsPerHost`.
  static func enter(
    _ loader: URLProtocol, session: URLSession, host: Host, limit: Int, at now: Instant
  ) -> Place {
    let session = ObjectIdentifier(session)
    return state.withLock { state in
      let key = Key(session: session, host: host)
      let hasRoom = limit <= 0 || state.lines[key]?.active.count ?? 0 < limit
      let place = Place(session: session, host: host, loader: loader, turn: hasRoom ? now : nil)
      if hasRoom {
        state.lines[key, default: Line()].active.append(place)
      } else {
        state.lines[key, default: Line()].waiting.append(place)
        state.waited += 1
      }
      return place
    }
  }

  /// A transfer has ended, and the next one gets its turn. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent again
  ///     after a challenge.
  ///   - account: Reads whether other transfers have followed a redirect.
  static func leave(
    _ place: Place, at now: Instant, strays: Bool, account: CurlAccount?
  ) -> Wait {
    state.withLock { state in
      let key = Key(session: place.session, host: place.host)
      state.lines[key]?.remove(place, at: now)
      if state.lines[key]?.isEmpty == true { state.lines[key] = nil }
      guard state.waited > 0 else { return .none }
      let lines = state.lines.filter { $0.key.session == place.session }.values
      if strays || lines.contains(where: { $0.hasStray(account) }) {
        place.state.withLock { $0.isCertain = false }
        for line in lines { for other in line.all { other.state.withLock { $0.isCertain = false } } }
      }
      return place.state.withLock { place in
        guard place.hasWaited else { return .none }
        state.waited -= 1
        guard place.isCertain, !strays else { return .unknown }
        return place.turn.map { .until($0) } ?? .whole
      }
    }
  }
}
