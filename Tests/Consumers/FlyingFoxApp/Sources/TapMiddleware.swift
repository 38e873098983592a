import FlyingFox
import TapCore

/// An error that says how it is answered. FlyingFox itself knows no status of an error: it answers 404 to an
/// `HTTPUnhandledError`, and 500 to any other.
protocol AnsweredError: Error { var statusCode: HTTPStatusCode { get } }

/// Records every request of a FlyingFox server: its metrics, its log line, and its trace for the requests
/// made meanwhile.
struct TapMiddleware: HTTPHandler {
  let inbound: InboundRequests
  let next: any HTTPHandler

  func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
    try await inbound.withRequest(
      method: request.method.rawValue, path: request.path, scheme: "http",
      traceparent: request.headers[HTTPHeader("traceparent")], headers: { request.headers[HTTPHeader($0)] }
    ) { recorded in
      do {
        let response = try await next.handleRequest(request)
        recorded.end(
          statusCode: response.statusCode.code, requestBodySize: request.bodySequence.count,
          responseBodySize: response.bodySize, responseHeaders: { response.headers[HTTPHeader($0)] })
        return response
      } catch let error as any AnsweredError {
        recorded.end(statusCode: error.statusCode.code)
        return HTTPResponse(statusCode: error.statusCode)
      } catch {
        recorded.end(statusCode: error is HTTPUnhandledError ? 404 : 500)
        throw error
      }
    }
  }
}

extension HTTPResponse {
  fileprivate var bodySize: Int? { if case .httpBody(let body) = payload { body.count } else { nil } }
}
