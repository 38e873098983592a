/// Finds the route of a request, or one that says why there is none.
struct Router: Sendable {
  /// The methods that a server is expected to recognize and that no route takes (RFC 9110, section 9.1).
  /// CONNECT is for proxies.
  private static let refusedMethods: Set = ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]

  private let routes: [String: EndpointRoute]
  private let nothing: EndpointRoute

  var paths: [String] { Array(routes.keys) }

  /// - Parameter routes: Of two with the same path, the first is used.
  init(_ routes: [EndpointRoute]) {
    self.routes = Dictionary(routes.map { ($0.path, $0) }) { first, _ in first }
    let paths = self.routes.keys.sorted().joined(separator: " ")
    nothing = Self.answer(.refusal(404, "nothing is here; this server has \(paths)"))
  }

  func route(for request: EndpointRequest) -> EndpointRoute {
    if request.method == "GET" || request.method == "HEAD" {
      return routes[request.path] ?? nothing
    }
    guard Self.refusedMethods.contains(request.method) else {
      return Self.answer(.refusal(501, "unknown method"))
    }
    // RFC 9110, section 15.5.6: a 405 must carry an Allow field.
    var response = EndpointResponse.refusal(405, "this server takes GET and HEAD")
    response.headers["Allow"] = "GET, HEAD"
    return Self.answer(response)
  }

  private static func answer(_ response: EndpointResponse) -> EndpointRoute {
    .immediate("") { _ in response }
  }
}
