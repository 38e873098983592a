/// A path, the methods that it takes, and the handler that answers.
public struct EndpointRoute: Sendable {
  package enum Handler: Sendable {
    case immediate(@Sendable (EndpointRequest) -> EndpointResponse)
    /// Starts work that calls back once, from any thread, and returns what cancels the work.
    case deferred(
      @Sendable (EndpointRequest, @escaping @Sendable (EndpointResponse) -> Void) -> @Sendable () -> Void)
  }

  let path: String
  let methods: [String]
  package let handler: Handler
  /// Whether it answers whatever host the request names, where others answer for this machine's names alone: all on this machine may see it.
  let isPublic: Bool
  /// The metrics of scrapes, which have places of their own.
  let scrapes: ScrapeMetrics?

  /// Makes a route whose handler may suspend, block or compute. It runs on threads of the route's own, at most
  /// 16 at a time, and holds up no others. Its task is cancelled when the client leaves, the answer's
  /// deadline passes, or the endpoint's shutdown runs out of time. A thrown error is answered with 500.
  ///
  /// ``Endpoint/overdueHandlers`` counts handlers that still run although their request is over. When four
  /// times ``Endpoint/Configuration/Limits/requestsInFlight`` handlers of the route run, others get 503.
  ///
  /// - Parameters:
  ///   - path: a normalised path such as `/healthz`. One that ends in `/*` also takes every path below it for
  ///     which no other route is more exact.
  ///   - methods: the methods of the route, such as `POST`; `GET` includes HEAD.
  ///   - handler: makes the answer.
  public init(
    _ path: String, methods: [String] = ["GET"],
    handler: @escaping @Sendable (EndpointRequest) async throws -> EndpointResponse
  ) {
    let threads = HandlerThreads()
    let start = Handler.deferred { request, complete in
      Task(executorPreference: threads) {
        complete((try? await handler(request)) ?? .refusal(500, "the handler failed"))
      }.cancel
    }
    self.init(path, methods, start)
  }

  /// Makes a route whose handler answers at once. The handler runs on the queue that serves every connection,
  /// so it must return within microseconds and must not block. See ``init(_:methods:handler:)``.
  public static func immediate(
    _ path: String, methods: [String] = ["GET"],
    handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) -> EndpointRoute {
    EndpointRoute(path, methods, .immediate(handler))
  }

  init(
    _ path: String, _ methods: [String] = ["GET"], isPublic: Bool = false, scrapes: ScrapeMetrics? = nil,
    _ handler: Handler
  ) {
    (self.path, self.methods, self.handler) = (path, methods, handler)
    (self.isPublic, self.scrapes) = (isPublic, scrapes)
  }
}
