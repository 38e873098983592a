package import Dispatch

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
    /// One that works in a task or on a queue of its own, because it may suspend or takes milliseconds. It calls back
    /// once with the answer, and returns its task if it has one.
    case elsewhere(
      @Sendable (EndpointRequest, @escaping @Sendable (EndpointResponse) -> Void) -> Task<Void, Never>?)
  }

  package let methods: [EndpointMethod]
  package let path: String
  package let handler: Handler
  /// Whether it answers whatever host the request names, where others answer for this machine's names alone: what it shows is for
  /// everybody on this machine.
  package var isPublic = false
  /// Counts handlers that outlive their requests by the path of their route, if this is the route that shows them.
  var countOverdue: (@Sendable (_ change: Double, _ path: String) -> Void)?

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
    self.init(
      path, methods,
      .elsewhere { request, complete in
        Task {
          complete((try? await handler(request)) ?? .refusal(.internalServerError, "the handler failed"))
        }
      })
  }

  /// Makes a route whose handler does not suspend, and may take its time. It runs in a task of its own like any other
  /// handler. Without this initializer, a trailing closure without `await` would be ``init(_:methods:immediate:)``'s.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    handler: @escaping @Sendable (EndpointRequest) throws -> EndpointResponse
  ) {
    self.init(path, methods: methods, handler: { request async throws in try handler(request) })
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
    self.init(
      path, [.get],
      .elsewhere { request, complete in
        queue.async { complete(handler(request)) }
        return nil
      })
  }

  private init(_ path: String, _ methods: [EndpointMethod], _ handler: Handler) {
    (self.path, self.methods, self.handler) = (path, methods, handler)
  }
}

/// Finds the route of a request, or one that says why there is none.
struct Router: Sendable {
  private var exact: [String: [EndpointRoute]] = [:]
  /// The routes that end in `/*`, by what stands before the star, the longest first.
  private let below: [(prefix: String, routes: [EndpointRoute])]
  private var methods = EndpointMethod.standard
  /// That of the route that shows these handlers, if there is one.
  let countOverdue: (@Sendable (_ change: Double, _ path: String) -> Void)?

  init(_ routes: [EndpointRoute]) {
    countOverdue = routes.lazy.compactMap(\.countOverdue).first
    var prefixes: [String: [EndpointRoute]] = [:]
    for route in routes {
      methods.formUnion(route.methods)
      if route.path.hasSuffix("/*") {
        prefixes[String(route.path.dropLast()), default: []].append(route)
      } else {
        exact[route.path, default: []].append(route)
      }
    }
    below = prefixes.sorted { $0.key.utf8.count > $1.key.utf8.count }.map { ($0.key, $0.value) }
  }

  func route(for request: EndpointRequest) -> EndpointRoute {
    // RFC 9110, section 9.1: 501 for a method that the server does not know, 405 for one that it knows.
    guard methods.contains(request.method) else {
      return Self.answer(.refusal(.notImplemented, "unknown method"))
    }
    if request.path == "*" {
      // RFC 9110, section 9.3.7: "OPTIONS *" asks about the server, and serves as a ping.
      let allowed = Self.allowed(exact.values.flatMap { $0 })
      return Self.answer(EndpointResponse(status: .noContent, headers: ["Allow": allowed]))
    }
    guard
      let routes = exact[request.path] ?? below.first(where: { request.path.hasPrefix($0.prefix) })?.routes
    else { return Self.answer(.refusal(.notFound, "nothing is here")) }
    // RFC 9110, section 9.1: "all general-purpose servers MUST support the methods GET and HEAD".
    let route = routes.first {
      $0.methods.contains(request.method) || request.method == .head && $0.methods.contains(.get)
    }
    if let route { return route }
    // RFC 9110, section 15.5.6: a 405 must carry an Allow field.
    let allowed = Self.allowed(routes)
    var response = EndpointResponse.refusal(.methodNotAllowed, "this path takes \(allowed)")
    response.headers["Allow"] = allowed
    return Self.answer(response)
  }

  private static func answer(_ response: EndpointResponse) -> EndpointRoute {
    EndpointRoute("", immediate: { _ in response })
  }

  /// The methods of the routes as a list, in a fixed order.
  private static func allowed(_ routes: [EndpointRoute]) -> String {
    var methods = Set(routes.flatMap(\.methods))
    if methods.contains(.get) { methods.insert(.head) }
    return methods.map(\.rawValue).sorted().joined(separator: ", ")
  }
}
