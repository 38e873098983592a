import HTTPTypes
import Hummingbird
import HummingbirdCore
import Instrumentation
import Synchronization
import TapCore

/// Records each request from its head until its response has been written:
///
///     Application(
///       responder: TapResponder(base: router.buildResponder()), server: .http1(observedBy: tap.inbound))
///
/// A middleware sees a response before it is written; `TapMiddleware.swift` wraps the body therefore, which takes a
/// quarter of a small response's requests/s.
extension HTTPServerBuilder {
  private static let traceparent = HTTPField.Name("traceparent")

  static func http1(observedBy inbound: InboundRequests) -> HTTPServerBuilder {
    HTTPServerBuilder { responder in
      HTTP1Channel(responder: { request, writer, channel in
        let exchange = Exchange(
          request: inbound.begin(
            method: request.method.rawValue, path: request.uri.path, scheme: "http",
            traceparent: traceparent.flatMap { request.headers[$0] }))
        var writer = Optional(writer)
        try await Exchange.$current.withValue(exchange) {
          if let writer = writer.take() { try await responder(request, writer, channel) }
        }
        // Not reached when the caller went away meanwhile: the request goes without an end, as a cancelled one.
        exchange.end()
      })
    }
  }
}

/// Puts what a request causes into its trace, and notes how it was answered.
struct TapResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  let base: Base

  func respond(to request: Request, context: Base.Context) async throws -> Response {
    guard let exchange = Exchange.current else {
      return try await base.respond(to: request, context: context)
    }
    do {
      var response = try await ServiceContext.withTrace(exchange.request.trace) {
        try await base.respond(to: request, context: context)
      }
      exchange.note(status: response.status.code, route: context.endpointPath, of: &response.body)
      return response
    } catch {
      // Hummingbird answers so for an error that says nothing else.
      var none = ResponseBody()
      exchange.note(status: 500, route: context.endpointPath, of: &none)
      throw error
    }
  }
}

/// A request, and how it was answered so far.
private final class Exchange: Sendable {
  @TaskLocal static var current: Exchange?

  private struct Answer {
    var status: Int
    var route: String?
    var bodySize: Int
  }

  let request: InboundRequest
  private let answer = Mutex<Answer?>(nil)

  init(request: InboundRequest) { self.request = request }

  /// Takes down what a response is, and counts the bytes of a body whose length nobody knows yet.
  func note(status: Int, route: String?, of body: inout ResponseBody) {
    let answer = Answer(status: status, route: route, bodySize: body.contentLength ?? 0)
    self.answer.withLock { $0 = answer }
    guard body.contentLength == nil else { return }
    body = body.map { part in
      self.answer.withLock { $0?.bodySize += part.readableBytes }
      return part
    }
  }

  func end() {
    guard let answer = answer.withLock({ $0 }) else { return request.fail() }
    request.end(statusCode: answer.status, route: answer.route, responseBodySize: answer.bodySize)
  }
}
