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
