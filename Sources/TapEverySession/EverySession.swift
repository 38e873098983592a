public import SessionTap
import Synchronization
import TapSessionSymbols
import TapURLSession

/// Whether sessions that other code makes are observed.
public enum EverySession: Sendable, Equatable {
  /// From now on. So many sessions were given before, `URLSession.shared` included. Of these a tap observes
  /// only those that it made or was installed on.
  case observed(earlierSessions: Int)
  /// They are not, for this reason, which names the remedy.
  case notObserved(reason: String)
}

extension Tap {
  /// Observes every session that any code of the process makes from now on, and `URLSession.shared` from its
  /// first use on.
  ///
  /// ```swift
  /// import SessionTap
  /// import TapEverySession
  ///
  /// let tap = try Tap.start()
  /// tap.observeEverySession(client: "app")
  /// ```
  ///
  /// Call it before the app or a library makes a session. Sessions of
  /// ``/SessionTap/Tap/session(client:configuration:delegate:delegateQueue:)`` keep their own client name,
  /// and ``/SessionTap/Tap/install(on:client:)`` replaces the one given here. The app's linker puts functions
  /// of this module before Foundation's. Where it cannot, nothing is observed: the result, standard error and
  /// the log say why, and the app runs.
  @discardableResult public func observeEverySession(client: String) -> EverySession {
    observeEverySession { _ in client }
  }

  /// Observes every session that any code of the process makes from now on, under a name for each.
  ///
  /// - Parameter client: The name for a session's `client` label and log field, by its configuration, or
  ///   `nil` for a session that is not observed. Called once for each session, on the thread that makes it,
  ///   without a lock: it should return at once. A session that it makes is not observed. Of more than 256
  ///   names, the last ones are `_OTHER`.
  @discardableResult public func observeEverySession(
    client: @escaping @Sendable (_ configuration: URLSessionConfiguration) -> String?
  ) -> EverySession {
    if let reason = tapSessionSymbolsStatus().reason {
      warn("sessions of other code are not observed: \(reason)")
      return .notObserved(reason: reason)
    }
    let earlier = Observers.add(Observer(tap: sessions, client: client))
    log(.info, "sessions of all code are observed", ["earlier_sessions": .integer(Int64(earlier))])
    return .observed(earlierSessions: earlier)
  }
}

extension TapSessionSymbolsStatus {
  fileprivate var reason: String? {
    switch self {
    case TapSessionSymbolsInEffect: nil
    case TapSessionSymbolsStatic:
      "Foundation is linked statically; pass the linker flags of the file TapSessionSymbols/linked-statically too"
    case TapSessionSymbolsBehind:
      "the dynamic linker finds Foundation's functions first; link TapEverySession into the executable, not a library of its own"
    default:
      "Foundation of this toolchain or system has no functions of the names that Swift 6.2 and 6.3 have on Linux"
    }
  }
}

/// A tap, for as long as it observes, and how it names sessions.
private struct Observer: Sendable {
  weak var tap: URLSessionTap?
  let client: @Sendable (URLSessionConfiguration) -> String?

  var hasEnded: Bool { tap?.isStopped ?? true }

  func observe(_ session: URLSession) { tap?.installOnce(on: session, client: client) }
}

private enum Observers {
  private struct State {
    var observers: [Observer] = []
    var count = 0
  }

  private static let state = Mutex(State())
  /// Observes `URLSession.shared`, once. Other threads that ask for it wait: once they use it, its list of
  /// classes must not change.
  private static let sharedIsObserved: Void = observe(.shared)

  /// Returns how many sessions there were before.
  static func add(_ observer: Observer) -> Int {
    let before = state.withLock { state in
      defer { state.observers = state.observers.filter { $0.tap !== observer.tap } + [observer] }
      return state
    }
    // Released outside the lock, because they have functions of the app.
    return withExtendedLifetime(before.observers) { before.count }
  }

  /// Before any other code gets the session. No lock is held, because an app's function names it.
  static func observe(_ session: URLSession) {
    let (observers, ended) = state.withLock { state in
      state.count += 1
      let ended = state.observers.filter(\.hasEnded)
      state.observers.removeAll(where: \.hasEnded)
      return (state.observers, ended)
    }
    withExtendedLifetime(ended) {
      for observer in observers { observer.observe(session) }
    }
  }

  static func observeShared() { sharedIsObserved }
}

/// Called for each session that Foundation gives to other code, before that code has it.
@_cdecl("tapSessionWasGiven")
func sessionWasGiven(_ session: UnsafeRawPointer, isShared: Bool) {
  if isShared { return Observers.observeShared() }
  if URLSessionTap.isMakingOwnSession { return }
  Observers.observe(Unmanaged<URLSession>.fromOpaque(session).takeUnretainedValue())
}
