/// A path, the methods that it takes, and the handler that answers.
public struct EndpointRoute: Sendable {
  /// Takes the answer, from any thread, and then reports whether it was sent.
  package typealias Completion =
    @Sendable (EndpointResponse, _ isSent: @escaping @Sendable (Bool) -> Void) -> Void

  package enum Handler: Sendable {
    case immediate(@Sendable (EndpointRequest) -> EndpointResponse)
    /// Calls back once, and has places of its own.
    case scrape(@Sendable (EndpointRequest, @escaping Completion) -> Void)
    /// Makes a task that calls back once.
    case task(
      @Sendable (EndpointRequest, @escaping @Sendable (EndpointResponse) -> Void) -> Task<Void, Never>)
  }

  let methods: [String]
  let path: String
  package let handler: Handler
  /// Whether it answers whatever host the request names, where others answer for this machine's names alone: what it shows is for
  /// everybody on this machine.
  var isPublic = false

  /// Makes a route whose handler may suspend, block or compute. It runs on threads of the route's own, at most
  /// 16 at a time, and holds up no others. Its task is cancelled when the client leaves, the answer's
  /// deadline passes, or the endpoint's shutdown runs out of time. An error that it throws is answered with
  /// 500, without its text.
  ///
  /// ``Endpoint/overdueHandlers`` counts handlers that still run although their request is over. When four
  /// times ``Endpoint/Configuration/Limits/requestsInFlight`` handlers of the route run, further requests get
  /// 503.
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
    let task = Handler.task { request, complete in
      Task(executorPreference: threads) {
        complete((try? await handler(request)) ?? .refusal(500, "the handler failed"))
      }
    }
    self.init(path, methods, task)
  }

  /// Makes a route whose handler answers at once. The handler runs on the thread that serves every connection,
  /// so it must return within microseconds and must not block. ``init(_:methods:handler:)`` describes the
  /// parameters.
  public static func immediate(
    _ path: String, methods: [String] = ["GET"],
    handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) -> EndpointRoute {
    EndpointRoute(path, methods, .immediate(handler))
  }

  init(_ path: String, _ methods: [String] = ["GET"], _ handler: Handler) {
    (self.path, self.methods, self.handler) = (path, methods, handler)
  }
}
