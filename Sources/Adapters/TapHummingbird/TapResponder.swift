import HTTPTypes
public import Hummingbird
public import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import ServiceContextModule
public import SessionTap
import Synchronization
import TapTracing

extension HTTPServerBuilder {
  /// A server for HTTP/1.1 that records each request from its head until its response has been written.
  ///
  /// The app's responder has to be a ``TapResponder``, which says how a request was answered.
  /// `Application(router:observedBy:)` makes both.
  ///
  /// - Parameters:
  ///   - tap: Where the requests are recorded.
  ///   - scheme: `https` if the server itself terminates TLS.
  ///   - configuration: Hummingbird's configuration, as `http1(configuration:)` takes it.
  public static func http1(
    observedBy tap: Tap, scheme: String = "http", configuration: HTTP1Channel.Configuration = .init()
  ) -> HTTPServerBuilder {
    let inbound = tap.inbound
    return HTTPServerBuilder { responder in
      ObservedChannel(
        inbound: inbound, scheme: scheme,
        base: HTTP1Channel(responder: responder, configuration: configuration))
    }
  }
}

/// Runs the handlers within the trace of the request, and notes how it was answered, for
/// `http1(observedBy:)`.
///
/// A middleware sees a response before it is written, so ``TapMiddleware`` wraps the body, which costs a
/// quarter of the requests/s of a small response. A server with this responder does not pay that. With any
/// other server the responder records nothing.
public struct TapResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  private let base: Base

  /// Makes a responder.
  ///
  /// - Parameter base: The app's own responder, such as `router.buildResponder()`.
  public init(base: Base) {
    self.base = base
  }

  /// Responds as the app's own responder does.
  public func respond(to request: Request, context: Base.Context) async throws -> Response {
    guard let connection = Connection.current, let trace = connection.trace else {
      return try await base.respond(to: request, context: context)
    }
    do {
      // The tap, the logger and `TapInstrument` read this. Spans of libraries would need
      // `ServiceContext.withTrace`, which takes as long as writing a log line.
      var response =
        if trace.span == nil {
          try await TraceContext.$current.withValue(trace) {
            try await base.respond(to: request, context: context)
          }
        } else {
          try await ServiceContext.withTrace(trace) { try await base.respond(to: request, context: context) }
        }
      let size = response.body.contentLength
      connection.note(
        status: response.status.code, route: context.route, bodySize: size ?? 0, headers: response.headers)
      if size == nil { response.body = connection.counting(response.body, in: trace) }
      return response
    } catch {
      // The router has answered errors that have a status; Hummingbird answers any other with 500.
      connection.note(status: 500, route: context.route, bodySize: 0)
      throw error
    }
  }
}

/// A connection of HTTP/1.1, which serves one request at a time: by it the responder finds its request.
/// Cheaper than a task local for each request.
private final class Connection: Sendable {
  @TaskLocal static var current: Connection?

  /// A request, and how it was answered so far.
  private struct Exchange {
    let request: ActiveRequest
    var status: Int?
    var route: String?
    var bodySize = 0
    var headers = HTTPFields()
  }

  private let inbound: InboundRequests
  private let exchange = Mutex<Exchange?>(nil)
  private let version: ConnectionVersion

  init(_ inbound: InboundRequests, _ version: ConnectionVersion) {
    (self.inbound, self.version) = (inbound, version)
  }

  func begin(_ request: Request, scheme: String) {
    let request = inbound.begin(request, scheme: scheme)
    exchange.withLock { $0 = Exchange(request: request) }
  }

  /// The trace of the current request.
  var trace: TraceContext? { exchange.withLock { $0?.request.trace } }

  func note(status: Int, route: String?, bodySize: Int, headers: HTTPFields = HTTPFields()) {
    let headers = inbound.kept(headers)
    let request = exchange.withLock { exchange in
      exchange?.status = status
      exchange?.route = route
      exchange?.bodySize = bodySize
      exchange?.headers = headers
      return exchange?.request
    }
    // From here on Hummingbird writes the response.
    request?.responseBegan(statusCode: status, route: route, protocolVersion: version.value)
  }

  /// Counts the bytes of a body of unknown length as they are written, within the trace: what makes it may
  /// make requests.
  func counting(_ body: ResponseBody, in trace: TraceContext) -> ResponseBody {
    let counted = body.map { part in
      self.exchange.withLock { $0?.bodySize += part.readableBytes }
      return part
    }
    return ResponseBody { writer in
      try await TraceContext.$current.withValue(trace) { try await counted.write(writer) }
    }
  }

  /// Releases the request, outside the lock: that may end it.
  func forget() { _ = exchange.withLock { $0.take() } }

  func end() {
    guard let exchange = exchange.withLock({ $0.take() }) else { return }
    guard let status = exchange.status else { return exchange.request.fail() }
    exchange.request.end(
      statusCode: status, route: exchange.route, responseBodySize: exchange.bodySize,
      responseHeaders: { exchange.headers.value(of: $0) })
  }
}

/// An HTTP/1.1 channel that records its requests, and makes its connection known to the responder.
private struct ObservedChannel: ServerChildChannel {
  /// A connection's channel, and what NIO's decoder knows of it.
  struct Value: ServerChildChannelValue {
    let http: HTTP1Channel.Value
    let version: ConnectionVersion
    var channel: any Channel { http.channel }
  }

  let inbound: InboundRequests
  let scheme: String
  let base: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { http in
      let (version, pipeline) = (ConnectionVersion(), channel.pipeline.syncOperations)
      if let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) {
        try pipeline.addHandler(version, position: .after(decoder))
      }
      return Value(http: http, version: version)
    }
  }

  func handle(value: Value, logger: Logger) async {
    let connection = Connection(inbound, value.version)
    let channel = HTTP1Channel { request, writer, channel in
      connection.begin(request, scheme: scheme)
      do {
        try await base.responder(request, writer, channel)
      } catch {
        // The client has gone: a request that is released without an end counts as cancelled.
        connection.forget()
        throw error
      }
      connection.end()
    }
    await Connection.$current.withValue(connection) {
      await channel.handle(value: value.http, logger: logger)
    }
  }
}

/// The HTTP version of a connection, which NIO decodes and Hummingbird's requests do not have: the highest
/// that its client has sent, as a client sends the highest that it speaks (RFC 9110, section 2.5).
private final class ConnectionVersion: ChannelInboundHandler, RemovableChannelHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart

  private let highest = Mutex<NetworkProtocolVersion?>(nil)

  /// Nil before the first request, and for a version that has no name.
  var value: NetworkProtocolVersion? { highest.withLock { $0 } }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var version: NetworkProtocolVersion?
    if case .head(let head) = unwrapInboundIn(data) {
      version = head.version == .http1_1 ? .http11 : head.version == .http1_0 ? .http10 : nil
      highest.withLock { $0 = version }
    }
    context.fireChannelRead(data)
    // Nothing higher comes, and being here costs each request a hundredth of its time.
    if version == .http11 { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
  }
}
