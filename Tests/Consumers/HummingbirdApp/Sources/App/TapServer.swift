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
  static func http1(observedBy inbound: InboundRequests) -> HTTPServerBuilder {
    HTTPServerBuilder { responder in ObservedChannel(inbound: inbound, responder: responder) }
  }
}

/// A connection of HTTP/1.1, which serves one request after another: the responder finds here which one that is. Cheaper
/// than a task local for each request.
private final class Connection: Sendable {
  @TaskLocal static var current: Connection?

  /// A request, and how it was answered so far.
  private struct Exchange {
    let request: ActiveRequest
    var status: Int?
    var route: String?
    var bodySize = 0
  }

  private let exchange = Mutex<Exchange?>(nil)

  func begin(_ request: ActiveRequest) { exchange.withLock { $0 = Exchange(request: request) } }

  /// The place in its trace of the request at hand.
  var trace: TraceContext? { exchange.withLock { $0?.request.trace } }

  /// Takes down what the response is.
  func note(status: Int, route: String?, bodySize: Int) {
    exchange.withLock { exchange in
      exchange?.status = status
      exchange?.route = route
      exchange?.bodySize = bodySize
    }
  }

  /// Adds the bytes of a body, of unknown length, as they are written.
  func counting(_ body: ResponseBody) -> ResponseBody {
    body.map { part in
      self.exchange.withLock { $0?.bodySize += part.readableBytes }
      return part
    }
  }

  /// Lets the request go, outside of the lock: it may end by that.
  func forget() { _ = exchange.withLock { $0.take() } }

  func end() {
    guard let exchange = exchange.withLock({ $0.take() }) else { return }
    guard let status = exchange.status else { return exchange.request.fail() }
    exchange.request.end(statusCode: status, route: exchange.route, responseBodySize: exchange.bodySize)
  }
}

/// An HTTP/1.1 channel whose connections can be found, and whose requests are recorded.
private struct ObservedChannel: ServerChildChannel {
  private static let traceparent = HTTPField.Name("traceparent")

  let inbound: InboundRequests
  let responder: HTTPChannelHandler.Responder

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    HTTP1Channel(responder: responder).setup(channel: channel, logger: logger)
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    let connection = Connection()
    let channel = HTTP1Channel { request, writer, channel in
      connection.begin(
        inbound.begin(
          method: request.method.rawValue, path: request.uri.path, scheme: "http",
          traceparent: Self.traceparent.flatMap { request.headers[$0] }))
      do {
        try await responder(request, writer, channel)
      } catch {
        // The caller went away meanwhile: the request goes without an end, as a cancelled one.
        connection.forget()
        throw error
      }
      connection.end()
    }
    await Connection.$current.withValue(connection) { await channel.handle(value: value, logger: logger) }
  }
}

/// Puts what a request causes into its trace, and notes how it was answered.
struct TapResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  let base: Base

  func respond(to request: Request, context: Base.Context) async throws -> Response {
    guard let connection = Connection.current, let trace = connection.trace else {
      return try await base.respond(to: request, context: context)
    }
    do {
      // What the tap and the logger ask, and `TapInstrument` for libraries. `ServiceContext.withTrace` would tell these
      // directly, and takes as long as it takes to write a log line.
      var response = try await TraceContext.$current.withValue(trace) {
        try await base.respond(to: request, context: context)
      }
      let size = response.body.contentLength
      connection.note(status: response.status.code, route: context.endpointPath, bodySize: size ?? 0)
      if size == nil { response.body = connection.counting(response.body) }
      return response
    } catch {
      // The router has answered errors that say how; Hummingbird answers any other so.
      connection.note(status: 500, route: context.endpointPath, bodySize: 0)
      throw error
    }
  }
}
