import Synchronization
import TapCore

/// A small HTTP/1.1 server (RFC 9110, RFC 9112) for metrics, health checks and small handlers of the app.
///
///     let endpoint = Endpoint(
///       configuration: .init(address: .loopback(port: 0)),
///       routes: [EndpointRoute("/healthz", immediate: { _ in .text("ok\n") })])
///     let address = try endpoint.start()
///     // … it serves …
///     await endpoint.shutdown(within: .seconds(5))
///
/// One serial dispatch queue serves all connections, so the endpoint uses at most one core; asynchronous
/// handlers run in tasks of their own. ``Configuration/Limits`` bounds what clients can use. Terminate TLS in
/// a reverse proxy.
///
/// An endpoint may be started again after a shutdown, at once and on the same port. Releasing a running
/// endpoint closes its connections.
public final class Endpoint: Sendable {
  private enum Phase {
    case stopped
    case running(EventLoop, EndpointAddress)
    /// The task ends when the port is free.
    case stopping(EventLoop, Task<Void, Never>)
  }

  private let configuration: Configuration
  private let router: Router
  private let phase = Mutex(Phase.stopped)

  /// Makes an endpoint, which does not listen yet.
  ///
  /// - Parameters:
  ///   - configuration: the address, the access and the limits. It is checked at the start.
  ///   - routes: the routes. If several have the same path and method, the first is used. A request without a
  ///     route is answered with 404, or with 405 if there is a route for another method.
  public init(configuration: Configuration = Configuration(), routes: [EndpointRoute]) {
    self.configuration = configuration
    router = Router(routes)
  }

  deinit {
    guard case .running(let loop, _) = phase.withLock({ $0 }) else { return }
    Task {
      await loop.abort()
      await loop.drain()
    }
  }

  /// Binds the address and begins to serve. When this returns, clients can connect.
  /// - Returns: the address that the endpoint listens at, with the port that the system chose in place of 0.
  /// - Throws: ``EndpointError``, such as `address in use: 127.0.0.1:9464 (…)`.
  @discardableResult
  public func start() throws(EndpointError) -> EndpointAddress {
    if let invalid = configuration.limits.firstInvalid {
      throw EndpointError(.invalidConfiguration, "invalid limit: \(invalid)")
    }
    if let host = configuration.access.allowedHosts.first(where: { EndpointAddress.parseHost($0) == nil }) {
      throw EndpointError(
        .invalidConfiguration,
        "invalid allowed host: \(host) (a name without a port, such as metrics.example.com)")
    }
    let authenticator = Authenticator(configuration.access)
    if let file = authenticator?.unusableFile {
      throw EndpointError(
        .invalidConfiguration,
        "no credentials: \(file) (write one a line, and let this process read the file)")
    }
    guard case .stopped = phase.withLock({ $0 }) else { throw Self.alreadyRunning }
    let socket = try ListeningSocket(configuration.address)
    if socket.address.isReachableFromNetwork, authenticator == nil,
      !configuration.access.allowsAnyoneFromNetwork
    {
      socket.close()
      throw EndpointError(
        .accessNotRestricted,
        "anybody could read: \(socket.address) (listen on 127.0.0.1, set a file with credentials, or set "
          + "allowsAnyoneFromNetwork, SESSION_TAP_ALLOW_NETWORK=1 in the environment)")
    }
    let isLoopback = socket.address.port != nil && !socket.address.isReachableFromNetwork
    let hosts = isLoopback ? AllowedHosts(configuration.access) : nil
    let loop = EventLoop(router, authenticator, hosts, configuration)
    let isFirst = phase.withLock { phase in
      guard case .stopped = phase else { return false }
      phase = .running(loop, socket.address)
      loop.start(socket)
      return true
    }
    guard isFirst else {
      socket.close()
      throw Self.alreadyRunning
    }
    return socket.address
  }

  private static let alreadyRunning = EndpointError(
    .alreadyRunning, "already running: shut the endpoint down before it starts again")

  /// The address that the endpoint listens at, with the actual port. `nil` while it does not.
  public var address: EndpointAddress? {
    if case .running(_, let address) = phase.withLock({ $0 }) { address } else { nil }
  }

  /// Stops accepting, closes idle connections, waits for the responses under way, bodies included, and closes
  /// the remaining connections when the time is over. When this returns, the port is free. Does nothing if
  /// the endpoint does not run.
  ///
  /// - Parameter time: how long to wait. Zero or less closes at once. Values are clamped to 292 years.
  public func shutdown(within time: Duration = .seconds(5)) async {
    let stopping: (loop: EventLoop, end: Task<Void, Never>)? = phase.withLock { phase in
      switch phase {
      case .stopped: return nil
      case .stopping(let loop, let end): return (loop, end)
      case .running(let loop, _):
        let end = Task {
          await loop.drain()
          await loop.abort()
          self.phase.withLock { $0 = .stopped }
        }
        phase = .stopping(loop, end)
        return (loop, end)
      }
    }
    guard let stopping else { return }
    let limit = Task {
      try await Task.sleep(for: .nanoseconds(time.nanoseconds))
      await stopping.loop.abort()
    }
    await stopping.end.value
    limit.cancel()
  }
}
