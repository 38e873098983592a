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
    self.methods = methods
    self.path = path
    self.handler = .immediate(handler)
  }

  /// A route whose handler may suspend. It runs in a task of its own, which is cancelled when the client has gone, the
  /// answer's deadline has passed, or the endpoint's shutdown has run out of time. An error that it throws is
  /// answered with 500, without its text.
  /// - Parameters:
  ///   - path: a normalised path such as `/users`; one that ends in `/*` takes every path below as well,
  ///     where no other route is more exact.
  ///   - methods: what the route takes; `[.get]` takes HEAD too.
  ///   - handler: makes the answer.
  public init(
    _ path: String, methods: [EndpointMethod] = [.get],
    handler: @escaping @Sendable (EndpointRequest) async throws -> EndpointResponse
  ) {
    self.methods = methods
    self.path = path
    self.handler = .asynchronous(handler)
  }

  package init(
    _ path: String, deferred handler: @escaping @Sendable (EndpointRequest, @escaping Completion) -> Void
  ) {
    methods = [.get]
    self.path = path
    self.handler = .deferred(handler)
  }

  /// Whether the route takes that method.
  func takes(_ method: EndpointMethod) -> Bool {
    // RFC 9110, section 9.1: "all general-purpose servers MUST support the methods GET and HEAD".
    methods.contains(method) || method == .head && methods.contains(.get)
  }
}

/// Finds the handler of a request, or the response that says why there is none.
struct Router: Sendable {
  /// The result for a request.
  enum Match: Sendable {
    case handler(EndpointRoute.Handler)
    case refused(EndpointResponse)
  }

  private var exact: [String: [EndpointRoute]] = [:]
  /// The routes that end in `/*`, by what stands before the star, the longest first.
  private var below: [(prefix: String, routes: [EndpointRoute])] = []
  private var methods = EndpointMethod.standard

  init(_ routes: [EndpointRoute]) {
    var prefixes: [String: [EndpointRoute]] = [:]
    for route in routes {
      methods.formUnion(route.methods)
      if route.path.hasSuffix("/*") {
        prefixes[String(route.path.dropLast()), default: []].append(route)
      } else {
        exact[route.path, default: []].append(route)
      }
    }
    below = prefixes.sorted { $0.key.utf8.count > $1.key.utf8.count }.map {
      (prefix: $0.key, routes: $0.value)
    }
  }

  func match(_ request: EndpointRequest) -> Match {
    // RFC 9110, section 9.1: 501 for a method that the server does not know, 405 for one that it knows.
    guard methods.contains(request.method) else {
      return .refused(.refusal(.notImplemented, "unknown method"))
    }
    if request.path == "*" {
      // RFC 9110, section 9.3.7: "OPTIONS *" asks about the server, and serves as a ping.
      return .refused(
        EndpointResponse(status: .noContent, headers: ["Allow": Self.allowed(exact.values.flatMap { $0 })]))
    }
    guard
      let routes = exact[request.path] ?? below.first(where: { request.path.hasPrefix($0.prefix) })?.routes
    else {
      return .refused(.refusal(.notFound, "nothing is here"))
    }
    guard let route = routes.first(where: { $0.takes(request.method) }) else {
      // RFC 9110, section 15.5.6: a 405 must carry an Allow field.
      let allowed = Self.allowed(routes)
      var response = EndpointResponse.refusal(.methodNotAllowed, "this path takes \(allowed)")
      response.headers["Allow"] = allowed
      return .refused(response)
    }
    return .handler(route.handler)
  }

  /// The methods of the routes as a list, in a fixed order.
  private static func allowed(_ routes: [EndpointRoute]) -> String {
    var methods = Set(routes.flatMap(\.methods))
    if methods.contains(.get) { methods.insert(.head) }
    return methods.map(\.rawValue).sorted().joined(separator: ", ")
  }
}
