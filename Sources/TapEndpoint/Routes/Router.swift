/// Finds the route of a request, or one that says why there is none.
struct Router: Sendable {
  private var exact: [String: [EndpointRoute]] = [:]
  /// The routes that end in `/*`, by what stands before the star, the longest first.
  private let below: [(prefix: String, routes: [EndpointRoute])]
  /// The methods that a server is expected to recognize: those that no route takes get a 405, all others a
  /// 501 (RFC 9110, section 9.1). CONNECT is for proxies.
  private var methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]

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
    below = prefixes.sorted { $0.key.utf8.count > $1.key.utf8.count }.map { ($0.key, $0.value) }
  }

  func route(for request: EndpointRequest) -> EndpointRoute {
    guard methods.contains(request.method) else { return Self.answer(.refusal(501, "unknown method")) }
    if request.path == "*" {
      // RFC 9110, section 9.3.7: "OPTIONS *" asks about the server, and serves as a ping.
      let allowed = Self.allowed(exact.values.flatMap { $0 })
      return Self.answer(EndpointResponse(status: 204, headers: ["Allow": allowed]))
    }
    guard
      let routes = exact[request.path] ?? below.first(where: { request.path.hasPrefix($0.prefix) })?.routes
    else { return Self.answer(.refusal(404, "nothing is here")) }
    // RFC 9110, section 9.1: "all general-purpose servers MUST support the methods GET and HEAD".
    let route = routes.first {
      $0.methods.contains(request.method) || request.method == "HEAD" && $0.methods.contains("GET")
    }
    if let route { return route }
    // RFC 9110, section 15.5.6: a 405 must carry an Allow field.
    let allowed = Self.allowed(routes)
    var response = EndpointResponse.refusal(405, "this path takes \(allowed)")
    response.headers["Allow"] = allowed
    return Self.answer(response)
  }

  private static func answer(_ response: EndpointResponse) -> EndpointRoute {
    .immediate("") { _ in response }
  }

  private static func allowed(_ routes: [EndpointRoute]) -> String {
    var methods = Set(routes.flatMap(\.methods))
    if methods.contains("GET") { methods.insert("HEAD") }
    return methods.sorted().joined(separator: ", ")
  }
}
