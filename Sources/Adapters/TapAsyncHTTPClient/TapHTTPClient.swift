public import AsyncHTTPClient
public import Logging
public import NIOCore
import NIOHTTP1
public import SessionTap
import Synchronization
import Tracing

/// An `HTTPClient` whose requests are recorded, in the same metrics and the same log as those of URLSessions.
///
///     let search = TapHTTPClient("search", tap: tap)
///     let response = try await search.execute(HTTPClientRequest(url: "https://…"), timeout: .seconds(5))
///
/// Request, response and errors are the client's own. A request without a `traceparent` header gets one, with
/// a child of `TraceContext.current`, unless the client has a tracer: the tracer adds its own. A request ends
/// once:
/// - when the last byte of the response's body has been read, or at the head of a response without a body;
/// - with the error that `execute` or the body throws; as cancelled with its task, or when the client is shut
///   down;
/// - when the caller releases the body: with the status if nothing was read or the status is an error, else
///   as cancelled.
public struct TapHTTPClient: Sendable {
  private let client: HTTPClient
  private let name: String
  private let outbound: OutboundRequests?

  /// Makes a client that records.
  ///
  /// - Parameters:
  ///   - name: The `client` label and log field: what the requests are for. Use few names, and never make
  ///     them of data.
  ///   - tap: Where the requests are recorded. With `nil` they are sent unchanged and unobserved.
  ///   - client: Sends the requests.
  public init(_ name: String, tap: Tap?, client: HTTPClient = .shared) {
    self.client = client
    self.name = name
    outbound = tap?.outbound
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - timeout: How long the request may take.
  ///   - logger: The client's, for this request.
  ///   - urlTemplate: A low-cardinality form of the path: the `url_template` label.
  /// - Returns: The response. The request ends when its body does.
  public func execute(
    _ request: HTTPClientRequest, timeout: TimeAmount, logger: Logger? = nil, urlTemplate: String? = nil
  ) async throws -> HTTPClientResponse {
    guard let outbound else { return try await client.execute(request, timeout: timeout, logger: logger) }
    var request = request
    let header = request.headers.first(name: "traceparent")
    let active = outbound.begin(
      client: name, method: request.method.rawValue, url: request.url, urlTemplate: urlTemplate,
      trace: header.flatMap { TraceContext(traceparent: $0) } ?? .next(),
      headers: { request.headers.value(of: $0) })
    if header == nil, client.tracer == nil || client.tracer is NoOpTracer {
      request.headers.add(name: "traceparent", value: active.trace.traceparent)
      request.headers.remove(name: "tracestate")
      if let state = active.trace.tracestate { request.headers.add(name: "tracestate", value: state) }
    }
    let exchange = Exchange(active, &request.body)
    do {
      var response = try await client.execute(request, timeout: timeout, logger: logger)
      active.responseBegan(
        statusCode: Int(response.status.code), protocolVersion: NetworkProtocolVersion(response.version))
      let body = ObservedBody(of: response, to: request, exchange)
      if body.length != 0 { response.body = .stream(body) }
      return response
    } catch {
      exchange.fail(error)
      throw error
    }
  }
}

/// An active request, and the size of its body.
private final class Exchange: Sendable {
  private let active: ActiveRequest
  /// The size of a body that is no stream, if known.
  private let size: Int?
  /// The bytes of a stream that were sent so far.
  private let streamed = Mutex<Int?>(nil)

  /// Wraps a body that is a stream, to count it. AsyncHTTPClient publishes neither a body's kind nor its
  /// length, and wrapping another body would change what is sent. So reflection is used, and a body of an
  /// unknown kind is left alone.
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

  func end(_ response: HTTPClientResponse, responseBodySize: Int?) {
    active.end(
      statusCode: Int(response.status.code), requestBodySize: streamed.withLock { $0 } ?? size,
      responseBodySize: responseBodySize, responseHeaders: { response.headers.value(of: $0) })
  }

  func fail(_ error: any Error, _ response: HTTPClientResponse? = nil, responseBodySize: Int? = nil) {
    if error is CancellationError || (error as? HTTPClientError) == .cancelled { return cancel() }
    let (known, streamed) = (RequestErrorType(error), streamed.withLock { $0 })
    active.fail(
      // An unknown error most likely comes from the stream of the request's body.
      known ?? (streamed == nil ? .other : .body),
      message: (error as? HTTPClientError)?.shortDescription ?? known.map { _ in "\(error)" },
      statusCode: response.map { Int($0.status.code) },
      requestBodySize: streamed ?? (response == nil ? nil : size), responseBodySize: responseBodySize,
      responseHeaders: { response?.headers.value(of: $0) })
  }

  func cancel() { active.cancel() }
}

/// The response's body, whose end is that of the request.
private final class ObservedBody: AsyncSequence, Sendable {
  /// The length of what is transferred, if the head tells.
  let length: Int?
  private let exchange: Exchange
  private let response: HTTPClientResponse
  /// The client may decode the body: then the bytes read are not those transferred.
  private let isEncoded: Bool

  init(of response: HTTPClientResponse, to request: HTTPClientRequest, _ exchange: Exchange) {
    self.response = response
    self.exchange = exchange
    let isHead = (response.history.last?.request.method ?? request.method) == .HEAD
    let isBodiless = isHead || [.noContent, .notModified].contains(response.status)
    length = isBodiless ? 0 : response.headers.first(name: "content-length").flatMap { Int($0) }
    isEncoded = response.headers.contains(name: "content-encoding")
    if length == 0 { exchange.end(response, responseBodySize: 0) }
  }

  deinit { release(after: 0) }

  /// The caller reads no more. Does nothing where the request has ended.
  private func release(after count: Int) {
    if count != length, Task.isCancelled || (count > 0 && response.status.code < 400) { exchange.cancel() }
    exchange.end(response, responseBodySize: count == length ? count : nil)
  }

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  final class Iterator: AsyncIteratorProtocol {
    private let body: ObservedBody
    private var base: HTTPClientResponse.Body.AsyncIterator
    private var count = 0

    init(_ body: ObservedBody) {
      self.body = body
      base = body.response.body.makeAsyncIterator()
    }

    deinit { body.release(after: count) }

    func next() async throws -> ByteBuffer? {
      do {
        let part = try await base.next()
        count += part?.readableBytes ?? 0
        if part == nil {
          body.exchange.end(body.response, responseBodySize: body.isEncoded ? body.length : count)
        }
        return part
      } catch {
        body.exchange.fail(error, body.response, responseBodySize: body.isEncoded ? nil : count)
        throw error
      }
    }
  }
}

extension NetworkProtocolVersion {
  fileprivate init?(_ version: HTTPVersion) {
    switch (version.major, version.minor) {
    case (1, 0): self = .http10
    case (1, 1): self = .http11
    case (2, _): self = .http2
    case (3, _): self = .http3
    default: return nil
    }
  }
}

extension HTTPHeaders {
  /// The header of this name, its values joined.
  fileprivate func value(of name: String) -> String? {
    let values = self[name]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
