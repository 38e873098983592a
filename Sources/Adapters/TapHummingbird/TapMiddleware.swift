import HTTPTypes
public import Hummingbird
public import HummingbirdCore
import ServiceContextModule
public import SessionTap
import TapTracing

/// Records each request that an app serves until its response has been written, and runs the handlers within
/// its trace.
///
///     let router = Router()
///     router.add(middleware: TapMiddleware(tap))
///
/// Add it first, so that the responses of other middlewares pass through it. An error ends the request with
/// the status with which Hummingbird answers.
///
/// The middleware wraps the response's body to see its end, so head, body and end are three writes in place
/// of one. If small responses have to be as fast as possible, use ``TapResponder``.
public struct TapMiddleware<Context: RequestContext>: RouterMiddleware {
  private let inbound: InboundRequests
  private let scheme: String

  /// Makes a middleware.
  ///
  /// - Parameters:
  ///   - tap: Where the requests are recorded.
  ///   - scheme: `https` if the server itself terminates TLS.
  public init(_ tap: Tap, scheme: String = "http") {
    inbound = tap.inbound
    self.scheme = scheme
  }

  /// Records a request, and passes it on.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let observed = inbound.begin(request, scheme: scheme, route: context.route)
    do {
      var response = try await ServiceContext.withTrace(observed.trace) { try await next(request, context) }
      let (status, headers, body) = (response.status.code, inbound.kept(response.headers), response.body)
      response.body = ResponseBody(contentLength: body.contentLength) { writer in
        observed.responseBegan(statusCode: status, route: context.route)
        try await ServiceContext.withTrace(observed.trace) { try await body.write(writer) }
        observed.end(
          statusCode: status, route: context.route, responseBodySize: body.contentLength,
          responseHeaders: { headers.value(of: $0) })
      }
      return response
    } catch {
      // As Hummingbird answers: with the error's status, or 500 for an error that has none.
      let status = (error as? any HTTPResponseError)?.status ?? .internalServerError
      observed.end(statusCode: status.code, route: context.route)
      throw error
    }
  }
}

extension RequestContext {
  /// The template that the router matched, which begins with a slash. Without one Hummingbird gives
  /// `NotFound` or the name of a middleware that answered.
  var route: String? { endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil } }
}

private let traceparent = HTTPField.Name("traceparent")

extension InboundRequests {
  /// Begins a request of Hummingbird's.
  ///
  /// - Parameter route: Which a middleware of a router knows by now.
  func begin(_ request: Request, scheme: String, route: String? = nil) -> ActiveRequest {
    // Most targets are a path alone (RFC 9112, section 3.2.1), of which Hummingbird would make a copy.
    let target = request.uri.string
    let isPath = target.utf8.first == UInt8(ascii: "/") && !target.utf8.contains(UInt8(ascii: "?"))
    return begin(
      method: request.method.rawValue, path: isPath ? target : request.uri.path, scheme: scheme, route: route,
      traceparent: traceparent.flatMap { request.headers[$0] }, headers: { request.headers.value(of: $0) })
  }

  /// The headers, if the log shows any. Hummingbird adds to them afterwards, which would copy all of them.
  func kept(_ headers: HTTPFields) -> HTTPFields { responseHeaderNames.isEmpty ? HTTPFields() : headers }
}

extension HTTPFields {
  /// The header of this name, its values joined.
  func value(of name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }
}
