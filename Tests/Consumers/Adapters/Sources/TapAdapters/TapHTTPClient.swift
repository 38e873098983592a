import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import TapCore
import Tracing

/// AsyncHTTPClient in a tap: its requests are in the same metrics and the same log as those of URLSessions.
///
///     let search = TapHTTPClient(client: .shared, name: "search", outbound: tap.outbound)
///     let response = try await search.execute(HTTPClientRequest(url: "https://…"), timeout: .seconds(5))
///
/// Request, response and errors are the client's own. A request without a `traceparent` header gets one, of a child of
/// `TraceContext.current`, unless the client has a tracer, which adds its own. A request ends once:
/// - when the last byte of the response's body has been read; at the head of a response that has no body;
/// - with the error that `execute` or the body throws; as cancelled with its task, or when the client is shut down;
/// - when the caller lets go of the body: with the status if nothing was read or it is an error, else as cancelled.
struct TapHTTPClient: Sendable {
  let client: HTTPClient
  let name: String  // The `client` label.
  let outbound: OutboundRequests?  // Without, nothing is recorded.
  func execute(
    _ request: HTTPClientRequest, timeout: TimeAmount, logger: Logger? = nil, urlTemplate: String? = nil
  ) async throws -> HTTPClientResponse {
    try await execute(request, deadline: .now() + timeout, logger: logger, urlTemplate: urlTemplate)
  }
  func execute(
    _ request: HTTPClientRequest, deadline: NIODeadline, logger: Logger? = nil, urlTemplate: String? = nil
  ) async throws -> HTTPClientResponse {
    guard let outbound else { return try await client.execute(request, deadline: deadline, logger: logger) }
    var request = request
    let header = request.headers.first(name: "traceparent")
    let active = outbound.begin(
      client: name, method: request.method.rawValue, url: request.url, urlTemplate: urlTemplate,
      trace: header.flatMap { TraceContext(traceparent: $0) } ?? TraceContext.current?.child() ?? .random())
    if header == nil, client.tracer == nil || client.tracer is NoOpTracer {
      request.headers.add(name: "traceparent", value: active.trace.traceparent)
    }
    let exchange = Exchange(active, &request.body)
    do {
      var response = try await client.execute(request, deadline: deadline, logger: logger)
      let body = ObservedBody(of: response, to: request, exchange)
      if body.length != 0 { response.body = .stream(body) }
      return response
    } catch {
      exchange.fail(error)
      throw error
    }
  }
}

private final class Exchange: Sendable {  // A request, and its end.
  let active: ActiveRequest
  private let size: Int?  // Of a body that is no stream.
  private let streamed = Mutex<Int?>(nil)
  /// Wraps a body that is a stream, to count it. AsyncHTTPClient publishes neither its kind nor its length, and to wrap
  /// another body would change what is sent. So reflection is used, and a body of an unknown kind is left alone.
  init(_ active: ActiveRequest, _ body: inout HTTPClientRequest.Body?) {
    self.active = active
    let mirror = body.map { Mirror(reflecting: $0) }
    let buffer = mirror?.descendant("mode", "byteBuffer") as? ByteBuffer
    let known = mirror?.descendant("mode", "sequence", "length", "known") as? Int64
    size = body == nil ? 0 : buffer?.readableBytes ?? known.map { Int($0) }
    let length = mirror?.descendant("mode", "asyncSequence", "length")
    let total = mirror?.descendant("mode", "asyncSequence", "length", "known") as? Int64
    guard let base = body, total != nil || length.map({ "\($0)" }) == "unknown" else { return }
    streamed.withLock { $0 = 0 }
    let counted = base.map { part in
      self.streamed.withLock { $0? += part.readableBytes }
      return part
    }
    body = .stream(counted, length: total.map { .known($0) } ?? .unknown)
  }
  func end(_ code: Int, _ bytes: Int?) {
    active.end(statusCode: code, requestBodySize: streamed.withLock { $0 } ?? size, responseBodySize: bytes)
  }
  func fail(_ error: any Error, _ code: Int? = nil, _ bytes: Int? = nil) {
    if error is CancellationError || (error as? HTTPClientError) == .cancelled { return active.cancel() }
    let (known, streamed) = (RequestErrorType(error), streamed.withLock { $0 })
    let words = (error as? HTTPClientError)?.shortDescription ?? known.map { _ in "\(error)" }
    let type = known ?? (streamed == nil ? .other : .body)  // Of an unknown error, most likely the stream's.
    let sent = streamed ?? (code == nil ? nil : size)
    active.fail(type, message: words, statusCode: code, requestBodySize: sent, responseBodySize: bytes)
  }
}

/// The response's body on its way to the caller.
private final class ObservedBody: AsyncSequence, Sendable {
  private let (base, exchange, status): (HTTPClientResponse.Body, Exchange, Int)
  let length: Int?  // Of what is transferred, if the head tells.
  private let isEncoded: Bool  // The client may decode it: then what is read is not what was transferred.
  init(of response: HTTPClientResponse, to request: HTTPClientRequest, _ exchange: Exchange) {
    (base, self.exchange, status) = (response.body, exchange, Int(response.status.code))
    let isHead = (response.history.last?.request.method ?? request.method) == .HEAD
    let isBodiless = isHead || [.noContent, .notModified].contains(response.status)
    length = isBodiless ? 0 : response.headers.first(name: "content-length").flatMap { Int($0) }
    isEncoded = response.headers.contains(name: "content-encoding")
    if length == 0 { exchange.end(status, 0) }
  }
  deinit { letGo(after: 0) }
  private func letGo(after count: Int) {
    if count != length, Task.isCancelled || (count > 0 && status < 400) { exchange.active.cancel() }
    exchange.end(status, count == length ? count : nil)
  }
  func makeAsyncIterator() -> Iterator { Iterator(self) }
  final class Iterator: AsyncIteratorProtocol {
    private let body: ObservedBody
    private var base: HTTPClientResponse.Body.AsyncIterator
    private var count = 0
    init(_ body: ObservedBody) { (self.body, base) = (body, body.base.makeAsyncIterator()) }
    deinit { body.letGo(after: count) }
    func next() async throws -> ByteBuffer? {
      do {
        let part = try await base.next()
        count += part?.readableBytes ?? 0
        if part == nil { body.exchange.end(body.status, body.isEncoded ? body.length : count) }
        return part
      } catch {
        body.exchange.fail(error, body.status, body.isEncoded ? nil : count)
        throw error
      }
    }
  }
}

extension RequestErrorType {
  fileprivate init?(_ error: any Error) {
    switch error {
    case let error as HTTPClientError:
      self = Self.kinds.first { $1.contains { $0.shortDescription == error.shortDescription } }?.0 ?? .other
    case let error as NIOConnectionError: self = error.connectionErrors.isEmpty ? .dns : .connect
    case let error as IOError where [ECONNREFUSED, ENOENT].contains(error.errnoCode): self = .connect
    case NIOSSLError.uncleanShutdown, is IOError, is ChannelError, is HTTPParserError: self = .connectionLost
    case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: self = .tls
    default: return nil
    }
  }
  private static let kinds: [(RequestErrorType, [HTTPClientError])] = [
    (.timeout, [.readTimeout, .writeTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout]),
    (.timeout, [.connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout]),
    (.connect, [.invalidProxyResponse, .proxyAuthenticationRequired]), (.body, [.bodyLengthMismatch]),
    (.connectionLost, [.remoteConnectionClosed]),
    (.tooManyRedirects, [.redirectLimitReached, .redirectCycleDetected]),
    (.unsupportedURL, [.invalidURL, .emptyHost, .emptyScheme, .missingSocketPath, .unsupportedScheme("")]),
  ]
}
