import Foundation
package import Synchronization
public import TapCore

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Observes the requests of URLSessions whose configurations it has patched.
///
/// ```swift
/// let tap = URLSessionTap(observers: [metrics, log])
/// let session = URLSession(configuration: tap.configuration(from: .default, client: "payments"))
/// ```
///
/// The tap changes nothing of a request and sends nothing: it stands before the loader that a task has
/// anyway. A tap can patch any number of configurations, and several taps may patch the same one: each then
/// observes every request. All members may be called from any thread.
public final class URLSessionTap: Sendable {
  /// The names of clients that one tap tells apart. Further ones are recorded as ``overflowClient``, so that
  /// names made at run time cannot grow the process.
  public static let clientLimit = 256

  /// The client name under which requests beyond ``clientLimit`` are recorded.
  public static let overflowClient = "_OTHER"

  private struct State {
    var observers: [any RequestObserver]
    var clients: Set<String> = []
  }

  private let state: Mutex<State>

  /// The requests that live, started or not: what a test checks for leaks.
  package let loaderCount = Atomic<Int>(0)

  /// Makes a tap whose requests the observers hear of, in their order.
  public init(observers: [any RequestObserver]) {
    state = Mutex(State(observers: observers))
  }

  /// Who hears of a request that starts now.
  var observers: [any RequestObserver] { state.withLock { $0.observers } }

  /// A copy of a configuration whose sessions this tap observes.
  ///
  /// The original is left alone. Protocol classes of the app's own stay behind the tap, in their order, and
  /// still get the requests that they take. Patching a patched configuration again gives it the new client
  /// name and observes each request once. Patch last: a class that is put before the tap later hides the
  /// requests that it takes.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field. Name what the session is for, such as
  ///     `payments`; see ``clientLimit``.
  public func configuration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    guard let copy = configuration.copy() as? URLSessionConfiguration else { return configuration }
    let others = (configuration.protocolClasses ?? []).filter { !isOwn($0) }
    let metricsClass = ProtocolClasses.metricsClass(
      tap: self, client: admitted(client), next: others.compactMap { $0 as? URLProtocol.Type })
    copy.protocolClasses = [metricsClass] + others
    return copy
  }

  /// Ends the observation: requests that start from now on are not recorded; those that run are, when they
  /// end. Sessions with a patched configuration go on as if it were not patched. Cannot be undone.
  public func stop() {
    state.withLock { $0.observers = [] }
  }

  private func isOwn(_ someClass: AnyClass) -> Bool {
    ProtocolClasses.context(of: someClass)?.tap === self
  }

  private func admitted(_ client: String) -> String {
    state.withLock { state in
      if state.clients.contains(client) { return client }
      guard state.clients.count < Self.clientLimit else { return Self.overflowClient }
      state.clients.insert(client)
      return client
    }
  }
}
