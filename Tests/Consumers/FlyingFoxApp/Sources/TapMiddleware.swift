import FlyingFox
import TapCore

/// An error that says how it is answered. FlyingFox itself knows no status of an error: it answers 404 to an
/// `HTTPUnhandledError`, and 500 to any other.
protocol AnsweredError: Error {
  var statusCode: HTTPStatusCode { get }
}

/// Records every request of a FlyingFox server: its metrics, its log line, and its trace for the requests made meanwhile.
struct TapMiddleware: HTTPHandler {
  let inbound: InboundRequests
  /// The server's routes. FlyingFox does not tell which of them it matched.
  let templates: PathTemplates
  let next: any HTTPHandler

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    let recorded = inbound.begin(
      method: request.method.rawValue, path: request.path, scheme: "http",
      traceparent: request.headers[HTTPHeader("traceparent")])
    let route = templates.template(for: request.path)
    do {
      let response = try await TraceContext.$current.withValue(recorded.trace) {
        try await next.handleRequest(request)
      }
      recorded.end(
        statusCode: response.statusCode.code, route: route, requestBodySize: request.bodySequence.count,
        responseBodySize: response.bodySize)
      return response
    } catch let error as any AnsweredError {
      recorded.end(statusCode: error.statusCode.code, route: route)
      return HTTPResponse(statusCode: error.statusCode)
    } catch {
      recorded.end(statusCode: error is HTTPUnhandledError ? 404 : 500, route: route)
      throw error
    }
  }
}

extension HTTPResponse {
  fileprivate var bodySize: Int? {
    if case .httpBody(let body) = payload { body.count } else { nil }
  }
}
