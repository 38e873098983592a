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
  /// One transfer among those of its session to a host and port. What changes of it is under the lock of the queue.
  final class Place: @unchecked Sendable {
    fileprivate let line: Line
    /// Alive as long as the transfer is in line: its `MetricsURLProtocol` leaves before it releases the loader. A weak
    /// reference would make each use of the object slower.
    fileprivate unowned(unsafe) let loader: URLProtocol
    /// When the transfer got its turn, or `nil` while it waits.
    fileprivate var turn: Instant?
    fileprivate let hasWaited: Bool
    fileprivate var isCertain = true

    fileprivate init(in line: Line, loader: URLProtocol, turn: Instant?) {
      self.line = line
      self.loader = loader
      self.turn = turn
      hasWaited = turn == nil
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
  fileprivate final class Line: @unchecked Sendable {
    let session: ObjectIdentifier
    private(set) var active: [Place] = []
    private(set) var waiting: [Place] = []

    init(session: ObjectIdentifier) { self.session = session }

    var isEmpty: Bool { active.isEmpty && waiting.isEmpty }

    func add(_ loader: URLProtocol, limit: Int, at now: Instant) -> Place {
      let hasRoom = limit <= 0 || active.count < limit
      let place = Place(in: self, loader: loader, turn: hasRoom ? now : nil)
      if hasRoom { active.append(place) } else { waiting.append(place) }
      return place
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

    /// No turn of these transfers is certain any more.
    func doubt() {
      for place in active { place.isCertain = false }
      for place in waiting { place.isCertain = false }
    }

    /// Whether a transfer has followed a redirect.
    func hasStray(_ account: CurlAccount?) -> Bool {
      guard let account else { return !active.isEmpty }
      return active.contains { account.redirectCount(of: $0.loader) ?? 0 > 0 }
    }
  }

  private struct Key: Hashable {
    let session: ObjectIdentifier
    let host: Host
  }

  private struct State {
    private var lines: [Key: Line] = [:]
    /// How many lines there may be before the empty ones go.
    private var sweepCount = 64
    /// The transfers under way that have waited, or wait. While there are none, nothing else has to be looked at.
    var waited = 0

    /// An empty line is kept for the next transfer. It says nothing, so it may serve another session at the same address.
    mutating func line(_ key: Key) -> Line {
      if let line = lines[key] { return line }
      if lines.count >= sweepCount {
        lines = lines.filter { !$0.value.isEmpty }
        sweepCount = max(64, 2 * lines.count)
      }
      let line = Line(session: key.session)
      lines[key] = line
      return line
    }

    /// Whether a transfer of a session has followed a redirect, and may be at another host.
    func hasStray(in session: ObjectIdentifier, _ account: CurlAccount?) -> Bool {
      lines.values.contains { $0.session == session && $0.hasStray(account) }
    }

    /// No turn of a session's transfers is certain any more.
    func doubt(_ session: ObjectIdentifier) {
      for line in lines.values where line.session == session { line.doubt() }
    }
  }

  private static let state = Mutex(State())

  /// A transfer begins. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - loader: Who keeps it must leave before letting it go.
  ///   - limit: The session's `httpMaximumConnectionsPerHost`.
  static func enter(
    _ loader: URLProtocol, session: URLSession, host: Host, limit: Int, at now: Instant
  ) -> Place {
    let key = Key(session: ObjectIdentifier(session), host: host)
    return state.withLock { state in
      let place = state.line(key).add(loader, limit: limit, at: now)
      if place.hasWaited { state.waited += 1 }
      return place
    }
  }

  /// A transfer has ended, and the next one gets its turn. On Foundation's queue.
  ///
  /// - Parameters:
  ///   - strays: Whether the transfer was at another host, or goes on unseen: it followed a redirect, or is sent again
  ///     after a challenge.
  ///   - account: Reads whether other transfers have followed a redirect.
  static func leave(_ place: Place, at now: Instant, strays: Bool, account: CurlAccount?) -> Wait {
    state.withLock { state in
      place.line.remove(place, at: now)
      guard state.waited > 0 else { return .none }
      let session = place.line.session
      if strays || state.hasStray(in: session, account) {
        place.isCertain = false
        state.doubt(session)
      }
      guard place.hasWaited else { return .none }
      state.waited -= 1
      guard place.isCertain, !strays else { return .unknown }
      return place.turn.map { .until($0) } ?? .whole
    }
  }
}
