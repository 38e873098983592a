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
    let version: NetworkProtocolVersion?
    var status: Int?
    var route: String?
    var bodySize = 0
    var headers = HTTPFields()
  }

  private let inbound: InboundRequests
  private let exchange = Mutex<Exchange?>(nil)
  private let versions: RequestVersions?

  init(_ inbound: InboundRequests, _ versions: RequestVersions?) {
    (self.inbound, self.versions) = (inbound, versions)
  }

  func begin(_ request: Request, scheme: String) {
    let version = versions?.next()
    let request = inbound.begin(request, scheme: scheme)
    exchange.withLock { $0 = Exchange(request: request, version: version) }
  }

  /// The trace of the current request.
  var trace: TraceContext? { exchange.withLock { $0?.request.trace } }

  func note(status: Int, route: String?, bodySize: Int, headers: HTTPFields = HTTPFields()) {
    let headers = inbound.kept(headers)
    let (request, version) = exchange.withLock { exchange in
      exchange?.status = status
      exchange?.route = route
      exchange?.bodySize = bodySize
      exchange?.headers = headers
      return (exchange?.request, exchange?.version)
    }
    // From here on Hummingbird writes the response.
    request?.responseBegan(statusCode: status, route: route, protocolVersion: version)
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
  let inbound: InboundRequests
  let scheme: String
  let base: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
    base.setup(channel: channel, logger: logger).flatMapThrowing { value in
      // Hummingbird's requests have no version, so it is read behind NIO's decoder.
      let pipeline = channel.pipeline.syncOperations
      if let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) {
        try pipeline.addHandler(RequestVersions(), position: .after(decoder))
      }
      return value
    }
  }

  func handle(value: HTTP1Channel.Value, logger: Logger) async {
    let versions = try? await value.channel.pipeline.handler(type: RequestVersions.self).get()
    let connection = Connection(inbound, versions)
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
    await Connection.$current.withValue(connection) { await channel.handle(value: value, logger: logger) }
  }
}

/// The HTTP versions of a connection's requests, which NIO decodes before Hummingbird serves them.
private final class RequestVersions: ChannelInboundHandler, Sendable {
  typealias InboundIn = HTTPServerRequestPart

  /// Of the requests that are not served yet, which NIO bounds.
  private let decoded = Mutex<[NetworkProtocolVersion?]>([])

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head(let head) = unwrapInboundIn(data) {
      let version: NetworkProtocolVersion? =
        head.version == .http1_1 ? .http11 : head.version == .http1_0 ? .http10 : nil
      decoded.withLock { $0.append(version) }
    }
    context.fireChannelRead(data)
  }

  /// That of the request that is served next.
  func next() -> NetworkProtocolVersion? { decoded.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}
