/// Finds the handler of a request, or the answer that says why there is none.
struct Router: Sendable {
  /// What becomes of a request.
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
