import TapURLSession
import TestSupport

/// The ways to a session that a tap observes.
enum TappedSession: String, CaseIterable, Sendable {
  case fromConfiguration = "patched configuration"
  /// The tap is installed on one that exists.
  case installed = "installed session"

  func make(_ tap: URLSessionTap, client: String = "test") -> AppCall.SessionMaker {
    switch self {
    case .fromConfiguration:
      { configuration, delegate, queue in
        URLSession(
          configuration: tap.sessionConfiguration(from: configuration, client: client), delegate: delegate,
          delegateQueue: queue)
      }
    case .installed:
      { configuration, delegate, queue in
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        tap.install(on: session, client: client)
        return session
      }
    }
  }
}
