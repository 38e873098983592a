@_exported public import TapCore
@_exported public import TapEndpoint
public import TapFoundation
@_exported public import TapLog
@_exported public import TapURLSession

// A file that imports SessionTap uses URLSession: on Linux, too, without an import of its own that only Linux
// has.
#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif

extension Tap {
  /// Makes a session that this tap observes. The client is the name for the `client` label and log field:
  /// what the session is for. Configuration, delegate and queue are those of any `URLSession`.
  public func session(
    client: String, configuration: URLSessionConfiguration = .default,
    delegate: (any URLSessionDelegate)? = nil, delegateQueue: OperationQueue? = nil
  ) -> URLSession {
    URLSession(
      configuration: sessionConfiguration(from: configuration, client: client), delegate: delegate,
      delegateQueue: delegateQueue)
  }

  /// Copies a configuration so that this tap observes its sessions, for code that makes the session itself.
  /// See ``/TapURLSession/URLSessionTap/sessionConfiguration(from:client:)`` for what is kept.
  public func sessionConfiguration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    sessions.sessionConfiguration(from: configuration, client: client)
  }

  /// Observes the requests that an existing session starts from now on, `URLSession.shared` included: one
  /// that is not in use yet, or whose tasks no other thread resumes during the call. Returns whether it is
  /// observed now. See ``/TapURLSession/URLSessionTap/install(on:client:)`` for the limits.
  @discardableResult public func install(on session: URLSession, client: String) -> Bool {
    sessions.install(on: session, client: client)
  }

  /// Ends the observation that ``install(on:client:)`` began.
  public func uninstall(from session: URLSession) { sessions.uninstall(from: session) }
}
