import Synchronization

/// A small HTTP/1.1 server (RFC 9110, RFC 9112) for metrics, health checks and the app's own small handlers.
///
///     let endpoint = Endpoint(
///       configuration: .init(address: .loopback(port: 0)),
///       routes: [EndpointRoute("/healthz", immediate: { _ in .text("ok\n") })])
///     let address = try endpoint.start()
///     // … it serves …
///     await endpoint.shutdown(within: .seconds(5))
///
/// All connections are served by one serial dispatch queue, and so by at most one core; asynchronous handlers
/// run in tasks of their own. What clients may take is bounded by ``Configuration/Limits``. There is no TLS:
/// a reverse proxy adds it.
///
/// An endpoint may be started again after a shutdown, at once and on the same port. One that is released
/// while it runs ends its connections.
public final class Endpoint: Sendable {
  private struct State {
    var loop: EventLoop?
    var address: EndpointAddress?
  }

  private let configuration: Configuration
  private let router: Router
  private let state = Mutex(State())

  /// Makes an endpoint, which does not listen yet.
  ///
  /// - Parameters:
  ///   - configuration: where it listens, who may read, and what clients may take. It is checked at the start.
  ///   - routes: what it answers. Of those with the same path and method the first counts; what none takes is
  ///     answered with 404, or 405 if another method would do.
  public init(configuration: Configuration = Configuration(), routes: [EndpointRoute]) {
    self.configuration = configuration
    router = Router(routes)
  }

  deinit {
    state.withLock { $0.loop }?.abandon()
  }

  /// Binds the address and begins to serve. When this returns, clients can connect.
  /// - Returns: the address that the endpoint listens at, with the port that the system chose in place of 0.
  /// - Throws: ``EndpointError``, such as `address in use: 127.0.0.1:9464 (…)`.
  @discardableResult
  public func start() throws(EndpointError) -> EndpointAddress {
    if let invalid = configuration.limits.firstInvalid {
      throw EndpointError(.invalidConfiguration, "invalid limit: \(invalid)")
    }
    let gatekeeper = Gatekeeper(configuration.access)
    if let file = gatekeeper.unusableFile {
      throw EndpointError(
        .invalidConfiguration,
        "no credentials: \(file) (write one a line, and let this process read the file)")
    }
    let loop = EventLoop(
      router: router, gatekeeper: gatekeeper, limits: configuration.limits,
      logRefusal: configuration.logRefusal)
    let isClaimed = state.withLock { state in
      guard state.loop == nil else { return false }
      state.loop = loop
      return true
    }
    guard isClaimed else {
      throw EndpointError(.alreadyRunning, "already running: shut the endpoint down before it starts again")
    }
    do throws(EndpointError) {
      let socket = try ListeningSocket(configuration.address)
      let access = configuration.access
      if socket.address.isReachableFromNetwork, !access.isRestricted, !access.allowsAnyoneFromNetwork {
        socket.close()
        throw EndpointError(
          .accessNotRestricted,
          "anybody could read: \(socket.address) (listen on 127.0.0.1, set a file with credentials, or set "
            + "allowsAnyoneFromNetwork)")
      }
      loop.start(socket)
      state.withLock { $0.address = socket.address }
      return socket.address
    } catch {
      state.withLock { $0.loop = nil }
      throw error
    }
  }

  /// Where the endpoint listens, with the actual port. `nil` while it does not.
  public var address: EndpointAddress? {
    state.withLock { $0.address }
  }

  /// Stops accepting, closes idle connections, and lets requests that are being answered end, their bodies
  /// included, for as long as the time given; then closes what is left. When this returns, the port is free.
  /// Without effect if the endpoint does not run.
  public func shutdown(within time: Duration = .seconds(5)) async {
    guard let loop = state.withLock({ $0.loop }) else { return }
    let limit = Task {
      try await Task.sleep(for: time)
      await loop.abort()
    }
    await loop.drain()
    limit.cancel()
    await loop.abort()
    state.withLock { state in
      guard state.loop === loop else { return }
      state = State()
    }
  }
}
