import Synchronization
public import TapCore

/// A small HTTP/1.1 server (RFC 9110, RFC 9112) for metrics and health checks. It takes GET and HEAD.
///
///     let endpoint = try Endpoint(registry: registry)
///     let address = try endpoint.start()
///     // … it serves /metrics and /healthz …
///     await endpoint.shutdown(within: .seconds(5))
///
/// One serial queue of Dispatch serves all connections, on Linux of the class `.utility`, whose threads serve
/// no other class. Another thread makes the metrics. ``Configuration/Limits`` bounds what clients can use. An
/// endpoint may be started again after a shutdown. Releasing a running one closes its connections.
public final class Endpoint: Sendable {
  private enum Phase {
    case stopped
    case running(EventLoop, EndpointAddress)
    case stopping(EventLoop)
  }

  private let configuration: Configuration
  private let router: Router
  private let phase = Mutex(Phase.stopped)
  let overdue = OverdueHandlers()

  /// Makes an endpoint, which does not listen yet, for the metrics of a registry. It registers its own there,
  /// and throws if one of their names is taken.
  public convenience init(
    configuration: Configuration = Configuration(), registry: Registry
  ) throws(RegistryError) {
    try self.init(configuration: configuration, registry: registry, further: [])
  }

  /// - Parameter further: routes beside those of every endpoint.
  package convenience init(
    configuration: Configuration, registry: Registry, further: [EndpointRoute]
  ) throws(RegistryError) {
    let metrics = try EndpointRoute.metrics(of: registry)
    self.init(configuration: configuration, routes: [metrics, .liveness()] + further)
    try registry.register(overdue)
  }

  package var paths: [String] { router.paths }

  package init(configuration: Configuration = Configuration(), routes: [EndpointRoute]) {
    self.configuration = configuration
    router = Router(routes)
  }

  deinit {
    guard case .running(let loop, _) = phase.withLock({ $0 }) else { return }
    loop.perform { $0.shutdown(by: .now) {} }
  }

  /// Binds the address and begins to serve. When this returns, clients can connect.
  /// - Returns: the address that the endpoint listens at, with the port that the system chose in place of 0.
  /// - Throws: ``EndpointError``, such as `address in use: 127.0.0.1:9464 (…)`.
  @discardableResult public func start() throws(EndpointError) -> EndpointAddress {
    if let invalid = configuration.limits.firstInvalid {
      throw EndpointError(.invalidConfiguration, "invalid limit: \(invalid)")
    }
    if let host = configuration.access.allowedHosts.first(where: { HostText.parse($0) == nil }) {
      throw EndpointError(
        .invalidConfiguration,
        "invalid allowed host: \(host) (a name without a port, such as metrics.example.com)")
    }
    let authenticator = try Authenticator(configuration.access)
    guard case .stopped = phase.withLock({ $0 }) else { throw Self.alreadyRunning }
    let socket = try ListeningSocket(configuration.address)
    do {
      try serve(socket, authenticator)
      return socket.address
    } catch {
      socket.close()
      throw error
    }
  }

  private func serve(_ socket: ListeningSocket, _ authenticator: Authenticator?) throws(EndpointError) {
    let isOpen = authenticator == nil && !configuration.access.allowsAnyoneFromNetwork
    if isOpen, socket.address.isReachableFromNetwork {
      throw EndpointError(
        .accessNotRestricted,
        "anybody could read: \(socket.address) (listen on 127.0.0.1, set a file with credentials, or set "
          + "allowsAnyoneFromNetwork or SESSION_TAP_ALLOW_NETWORK=1)")
    }
    let loop = try EventLoop(socket, router, authenticator, configuration, overdue)
    try phase.withLock { (phase) throws(EndpointError) in
      // Another start may have come first.
      guard case .stopped = phase else { throw Self.alreadyRunning }
      phase = .running(loop, socket.address)
      // Before a shutdown can find the loop.
      loop.perform { $0.begin() }
    }
  }

  private static let alreadyRunning = EndpointError(
    .alreadyRunning, "already running: shut the endpoint down before it starts again")

  /// The address that the endpoint listens at, with the actual port. `nil` while it does not.
  public var address: EndpointAddress? {
    if case .running(_, let address) = phase.withLock({ $0 }) { address } else { nil }
  }

  /// Stops accepting, closes idle connections, waits for the current responses, bodies included, and closes
  /// the remaining connections when the time is over: at once with zero or less. When this returns, the port
  /// is free.
  public func shutdown(within time: Duration = .seconds(5)) async {
    let stopping = phase.withLock { phase -> EventLoop? in
      if case .running(let loop, _) = phase { phase = .stopping(loop) }
      return if case .stopping(let loop) = phase { loop } else { nil }
    }
    guard let stopping else { return }
    let deadline = ContinuousClock.now + .nanoseconds(time.nanoseconds)
    await withCheckedContinuation { continuation in
      stopping.perform { loop in
        loop.shutdown(by: deadline) {
          self.phase.withLock { phase in
            if case .stopping(let loop) = phase, loop === stopping { phase = .stopped }
          }
          continuation.resume()
        }
      }
    }
  }
}
