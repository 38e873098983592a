import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
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
      ObservedChannel(
        base: HTTP1Channel(responder: { request, writer, channel in
          let exchange = Exchange(
            request: inbound.begin(
              method: request.method.rawValue, path: request.uri.path, scheme: "http",
              traceparent: traceparent.flatMap { request.headers[$0] }))
          Connection.current?.exchange.withLock { $0 = exchange }
          try await responder(request, writer, channel)
          // Not reached when the caller went away meanwhile: the request goes without an end, as a cancelled one.
          exchange.end()
        }))
    }
  }
}

/// A connection of HTTP/1.1, which serves one request after another: the responder finds here which one that is. Cheaper
/// than a task local for each request.
private final class Connection: Sendable {
  @TaskLocal static var current: Connection?

  let exchange = Mutex<Exchange?>(nil)
}

/// An HTTP/1.1 channel whose connections can be found.
private struct ObservedChannel: ServerChildChannel {
  let base: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    base.setup(channel: channel, logger: logger)
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    await Connection.$current.withValue(Connection()) { await base.handle(value: value, logger: logger) }
  }
}

/// Puts what a request causes into its trace, and notes how it was answered.
struct TapResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  let base: Base

  func respond(to request: Request, context: Base.Context) async throws -> Response {
    guard let exchange = Connection.current?.exchange.withLock({ $0 }) else {
      return try await base.respond(to: request, context: context)
    }
    do {
      // What the tap and the logger ask, and `TapInstrument` for libraries. `ServiceContext.withTrace` would tell these
      // directly, and takes as long as it takes to write a log line.
      var response = try await TraceContext.$current.withValue(exchange.request.trace) {
        try await base.respond(to: request, context: context)
      }
      let size = response.body.contentLength
      exchange.note(status: response.status.code, route: context.endpointPath, bodySize: size ?? 0)
      if size == nil { response.body = exchange.counting(response.body) }
      return response
    } catch {
      // Hummingbird answers so for an error that says nothing else.
      exchange.note(status: 500, route: context.endpointPath, bodySize: 0)
      throw error
    }
  }
}

/// A request, and how it was answered so far.
private final class Exchange: Sendable {
  private struct Answer {
    var status: Int
    var route: String?
    var bodySize: Int
  }

  let request: InboundRequest
  private let answer = Mutex<Answer?>(nil)

  init(request: InboundRequest) { self.request = request }

  /// Takes down what the response is.
  func note(status: Int, route: String?, bodySize: Int) {
    let answer = Answer(status: status, route: route, bodySize: bodySize)
    self.answer.withLock { $0 = answer }
  }

  /// Adds the bytes of a body, whose length nobody knows yet, as they are written.
  func counting(_ body: ResponseBody) -> ResponseBody {
    body.map { part in
      self.answer.withLock { $0?.bodySize += part.readableBytes }
      return part
    }
  }

  func end() {
    guard let answer = answer.withLock({ $0 }) else { return request.fail() }
    request.end(statusCode: answer.status, route: answer.route, responseBodySize: answer.bodySize)
  }
}
