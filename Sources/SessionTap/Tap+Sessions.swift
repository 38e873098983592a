public import Foundation
import TapURLSession

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// The sessions that a tap observes.
extension Tap {
  /// A session that this tap observes.
  ///
  /// - Parameters:
  ///   - client: The name for the `client` label and log field: what the session is for.
  ///   - configuration: What to make it of; it is copied.
  ///   - delegate: The session's, as `URLSession` takes it.
  ///   - delegateQueue: Where the session calls its delegate, as `URLSession` takes it.
  public func session(
    client: String, configuration: URLSessionConfiguration = .default,
    delegate: (any URLSessionDelegate)? = nil, delegateQueue: OperationQueue? = nil
  ) -> URLSession {
    URLSession(
      configuration: sessionConfiguration(from: configuration, client: client), delegate: delegate,
      delegateQueue: delegateQueue)
  }

  /// A copy of a configuration whose sessions this tap observes, for those who make the session themselves. See
  /// ``/TapURLSession/URLSessionTap/sessionConfiguration(from:client:)`` for what is kept and what is not.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field: what the session is for.
  public func sessionConfiguration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    sessions.sessionConfiguration(from: configuration, client: client)
  }

  /// Observes the requests that an existing session starts from now on, `URLSession.shared` included. See
  /// ``/TapURLSession/URLSessionTap/install(on:client:)`` for its limits.
  ///
  /// - Parameters:
  ///   - session: A session that is not in use yet, or whose tasks no other thread resumes meanwhile.
  ///   - client: The name for the `client` label and log field.
  /// - Returns: Whether the session is observed now.
  @discardableResult
  public func install(on session: URLSession, client: String) -> Bool {
    sessions.install(on: session, client: client)
  }

  /// Ends the observation of a session that ``install(on:client:)`` began.
  public func uninstall(from session: URLSession) {
    sessions.uninstall(from: session)
  }
}
