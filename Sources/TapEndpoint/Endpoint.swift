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
/// All connections are served by one serial dispatch queue, and so by at most one core; asynchronous handlers
/// run in tasks of their own. ``Configuration/Limits`` bound what clients can use. There is no TLS:
/// a reverse proxy adds it.
///
/// An endpoint may be started again after a shutdown, at once and on the same port. One that is released
/// while it runs ends its connections.
public final class Endpoint: Sendable {
  /// The phases of an endpoint. After `stopping` it is `stopped` again.
  private enum Phase {
    case stopped
    case starting
    case running(EventLoop, EndpointAddress)
    case stopping(EventLoop)
  }

  private struct State {
    var phase = Phase.stopped
    /// Shutdowns that wait for the end of `starting` or `stopping`.
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let configuration: Configuration
  private let router: Router
  private let state = Mutex(State())

  /// Makes an endpoint, which does not listen yet.
  ///
  /// - Parameters:
  ///   - configuration: the address, the access and the limits. It is checked at the start.
  ///   - routes: the paths that it serves. Of those with the same path and method the first is used; a request that
  ///     none takes is answered with 404, or with 405 if there is a route for another method.
  public init(configuration: Configuration = Configuration(), routes: [EndpointRoute]) {
    self.configuration = configuration
    router = Router(routes)
  }

  deinit {
    switch state.withLock({ $0.phase }) {
    case .running(let loop, _), .stopping(let loop): loop.abandon()
    case .stopped, .starting: break
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
    let authenticator = Authenticator(configuration.access)
    if let file = authenticator.unusableFile {
      throw EndpointError(
        .invalidConfiguration,
        "no credentials: \(file) (write one a line, and let this process read the file)")
    }
    let loop = EventLoop(
      router: router, authenticator: authenticator, limits: configuration.limits,
      logRefusal: configuration.logRefusal)
    let isClaimed = state.withLock { state in
      guard case .stopped = state.phase else { return false }
      state.phase = .starting
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
      enter(.running(loop, socket.address))
      return socket.address
    } catch {
      enter(.stopped)
      throw error
    }
  }

  /// The address that the endpoint listens at, with the actual port. `nil` while it does not.
  public var address: EndpointAddress? {
    guard case .running(_, let address) = state.withLock({ $0.phase }) else { return nil }
    return address
  }

  /// Stops accepting, closes idle connections, and lets requests that are being answered end, their bodies
  /// included, for as long as the time given; then closes what is left. When this returns, the port is free.
  /// Without effect if the endpoint does not run.
  ///
  /// A ``start()`` that is under way on another thread ends first, and is then shut down.
  ///
  /// - Parameter time: nothing, or less, closes at once. More than 292 years are 292 years.
  public func shutdown(within time: Duration = .seconds(5)) async {
    await phaseEnd { if case .starting = $0 { true } else { false } }
    let (loop, isFirst): (EventLoop?, Bool) = state.withLock { state in
      switch state.phase {
      case .running(let loop, _):
        state.phase = .stopping(loop)
        return (loop, true)
      case .stopping(let loop): return (loop, false)
      case .stopped, .starting: return (nil, false)
      }
    }
    guard let loop else { return }
    let limit = Task {
      try await Task.sleep(for: .nanoseconds(time.nanoseconds))
      await loop.abort()
    }
    defer { limit.cancel() }
    guard isFirst else {
      return await phaseEnd { if case .stopping(let current) = $0 { current === loop } else { false } }
    }
    await loop.drain()
    await loop.abort()
    enter(.stopped)
  }

  /// Ends `starting` or `stopping`.
  private func enter(_ phase: Phase) {
    let waiting = state.withLock { state in
      state.phase = phase
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until another thread has ended the phase. Returns at once in any other phase.
  private func phaseEnd(_ isCurrent: (Phase) -> Bool) async {
    await withCheckedContinuation { continuation in
      let waits = state.withLock { state in
        guard isCurrent(state.phase) else { return false }
        state.waiting.append(continuation)
        return true
      }
      if !waits { continuation.resume() }
    }
  }
}

/// Why an endpoint cannot start. Its description names the cause and the remedy in one line.
public struct EndpointError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The causes. New ones may come: a `switch` over them needs a default.
  public struct Code: Sendable, Hashable {
    private enum Name {
      case addressInUse, addressNotAvailable, permissionDenied, invalidConfiguration
      case alreadyRunning, tooManyOpenFiles, accessNotRestricted, system
    }
    private let name: Name

    /// Another socket listens at the address.
    public static let addressInUse = Code(name: .addressInUse)
    /// The host is none of this machine's, or its name does not resolve.
    public static let addressNotAvailable = Code(name: .addressNotAvailable)
    /// The process may not listen there.
    public static let permissionDenied = Code(name: .permissionDenied)
    /// A setting is out of its range, or two contradict each other.
    public static let invalidConfiguration = Code(name: .invalidConfiguration)
    /// The endpoint was started already and not shut down.
    public static let alreadyRunning = Code(name: .alreadyRunning)
    /// The process or the system has no file descriptor left.
    public static let tooManyOpenFiles = Code(name: .tooManyOpenFiles)
    /// Other machines could read without credentials, and the configuration does not allow that.
    public static let accessNotRestricted = Code(name: .accessNotRestricted)
    /// A system call failed for another reason.
    public static let system = Code(name: .system)
  }

  /// The cause.
  public let code: Code
  /// The cause and the remedy in one line, such as `address in use: 127.0.0.1:9464 (…)`.
  public let description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
