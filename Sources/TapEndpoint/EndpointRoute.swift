package import Dispatch
import Synchronization

/// A path, the methods that it takes, and the handler that answers.
public struct EndpointRoute: Sendable {
  /// Takes the answer, from any thread, and then reports whether it was still awaited.
  package typealias Completion =
    @Sendable (EndpointResponse, _ isSent: @escaping @Sendable (Bool) -> Void) -> Void

  package enum Handler: Sendable {
    case immediate(@Sendable (EndpointRequest) -> EndpointResponse)
    /// One that calls back once. It needs no thread of Swift's pool, and so works while the app blocks them all, which
    /// is when its metrics matter most.
    case deferred(@Sendable (EndpointRequest, @escaping Completion) -> Void)
    /// One that runs on a queue of its own, because it takes milliseconds. It needs no thread of Swift's pool either.
    case queued(DispatchQueue, @Sendable (EndpointRequest) -> EndpointResponse)
    case asynchronous(@Sendable (EndpointRequest) async throws -> EndpointResponse)
  }

  package let methods: [EndpointMethod]
  package let path: String
  package let handler: Handler
  /// Whether it answers whatever host the request names, where others answer for this machine's names alone: what it shows is for
  /// everybody on this machine.
  package var isPublic = false
  /// Counts handlers that outlive their requests by the path of their route, if this is the route that shows them.
  var countOverdue: (@Sendable (_ change: Double, _ path: String) -> Void)?
  /// Its handlers that run, if they may outlive their requests.
  let running: RunningHandlers?

  /// Makes a route whose handler answers at once. The handler runs on the queue that serves every connection,
  /// so it must return within microseconds and must not block. Write its label: a trailing closure is the
  /// one of `handler:`, even if it does not suspend.
  ///
  /// - Parameters:
  ///   - path: a normalised path such as `/healthz`. One that ends in `/*` also takes every path below it for
  ///     which no other route is more exact.
  ///   - methods: the methods of the route; `[.get]` includes HEAD.
  ///   - handler: makes the answer.
  @_disfavoredOverload
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    immediate handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) {
    self.init(path, methods, .immediate(handler))
  }

  /// Makes a route whose handler may suspend. The handler runs in a task of its own, which is cancelled when
  /// the client leaves, the answer's deadline passes, or the endpoint's shutdown runs out of time. An error
  /// that it throws is answered with 500, without its text. ``init(_:methods:immediate:)`` describes path and
  /// methods.
  ///
  /// `session_tap_overdue_handlers` counts handlers that still run although their request is over. When four
  /// times ``Endpoint/Configuration/Limits/requestsInFlight`` handlers of the route run, further requests get
  /// 503.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    handler: @escaping @Sendable (EndpointRequest) async throws -> EndpointResponse
  ) {
    self.init(path, methods, .asynchronous(handler), RunningHandlers())
  }

  /// Makes a route whose handler does not suspend, and may take its time. It runs in a task of its own like any other
  /// handler. Without this initializer, a trailing closure without `await` would be ``init(_:methods:immediate:)``'s.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    handler: @escaping @Sendable (EndpointRequest) throws -> EndpointResponse
  ) {
    self.init(path, methods, .asynchronous(handler), RunningHandlers())
  }

  package init(
    _ path: String, deferred handler: @escaping @Sendable (EndpointRequest, @escaping Completion) -> Void
  ) {
    self.init(path, [.get], .deferred(handler))
  }

  package init(
    _ path: String, on queue: DispatchQueue,
    handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) {
    self.init(path, [.get], .queued(queue, handler), RunningHandlers())
  }

  private init(
    _ path: String, _ methods: [EndpointMethod], _ handler: Handler, _ running: RunningHandlers? = nil
  ) {
    (self.path, self.methods, self.handler, self.running) = (path, methods, handler, running)
  }
}

/// Counts the handlers of a route that run, whether a request waits for them or not.
final class RunningHandlers: Sendable {
  private let count = Mutex(0)

  /// Counts one more, unless there are so many.
  func begin(atMost limit: Int) -> Bool {
    count.withLock { count in
      guard count < limit else { return false }
      count += 1
      return true
    }
  }

  func end() { count.withLock { $0 -= 1 } }
}
