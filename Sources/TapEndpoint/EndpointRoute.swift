/// A path, the methods that it takes, and the handler that answers.
public struct EndpointRoute: Sendable {
  /// Takes the answer, from any thread, and then reports whether it was still awaited.
  package typealias Completion =
    @Sendable (EndpointResponse, _ isSent: @escaping @Sendable (Bool) -> Void) -> Void

  /// The kinds of handlers.
  package enum Handler: Sendable {
    case immediate(@Sendable (EndpointRequest) -> EndpointResponse)
    /// One that calls back once. It needs no thread of Swift's pool, and so works while the app blocks them all, which
    /// is when its metrics matter most.
    case deferred(@Sendable (EndpointRequest, @escaping Completion) -> Void)
    case asynchronous(@Sendable (EndpointRequest) async throws -> EndpointResponse)
  }

  package let methods: [EndpointMethod]
  package let path: String
  package let handler: Handler

  /// A route whose handler answers at once. It runs on the queue that serves every connection, so it must
  /// return within microseconds, and must not block.
  /// - Parameters:
  ///   - path: a normalised path such as `/healthz`; one that ends in `/*` takes every path below as well,
  ///     where no other route is more exact.
  ///   - methods: what the route takes; `[.get]` takes HEAD too.
  ///   - handler: makes the answer.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    immediate handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) {
    (self.path, self.methods, self.handler) = (path, methods, .immediate(handler))
  }

  /// A route whose handler may suspend. It runs in a task of its own, which is cancelled when the client has gone, the
  /// answer's deadline has passed, or the endpoint's shutdown has run out of time. An error that it throws is
  /// answered with 500, without its text. Path and methods are those of ``init(_:methods:immediate:)``.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    handler: @escaping @Sendable (EndpointRequest) async throws -> EndpointResponse
  ) {
    (self.path, self.methods, self.handler) = (path, methods, .asynchronous(handler))
  }

  package init(
    _ path: String, deferred handler: @escaping @Sendable (EndpointRequest, @escaping Completion) -> Void
  ) {
    (self.path, self.methods, self.handler) = (path, [.get], .deferred(handler))
  }
}
