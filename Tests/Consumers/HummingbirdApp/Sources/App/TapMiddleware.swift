import HTTPTypes
import Hummingbird
import Instrumentation
import SessionTap

/// Records each request until its response has been written, and puts what it causes into its trace:
///
///     router.add(middleware: TapMiddleware(inbound: tap.inbound))
///
/// The body is wrapped, so that its end is seen: head, body and end are then three writes in place of one. Where a
/// small response has to be as fast as it can, `TapServer.swift` does the same without.
struct TapMiddleware<Context: RequestContext>: RouterMiddleware {
  let inbound: InboundRequests

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let observed = inbound.begin(
      method: request.method.rawValue, path: request.uri.path, scheme: "http",
      traceparent: HTTPField.Name("traceparent").flatMap { request.headers[$0] })
    do {
      var response = try await ServiceContext.withTrace(observed.trace) { try await next(request, context) }
      let (status, body) = (response.status.code, response.body)
      response.body = ResponseBody(contentLength: body.contentLength) { writer in
        try await body.write(writer)
        observed.end(statusCode: status, route: context.endpointPath, responseBodySize: body.contentLength)
      }
      return response
    } catch {
      // As Hummingbird answers: with the error's status, or 500 for an error that has none.
      let status = (error as? any HTTPResponseError)?.status ?? .internalServerError
      observed.end(statusCode: status.code, route: context.endpointPath)
      throw error
    }
  }
}
