import AsyncHTTPClient
import NIOCore
import NIOSSL
import SessionTap
import TapAsyncHTTPClient
import TapCore
import Testing

/// A client, the server that it talks to, and what the tap records.
struct ClientFixture: Sendable {
  let server: OddServer
  let client: TapHTTPClient
  /// What ``client`` sends its requests by.
  let untapped: HTTPClient
  let tap: Tap
  fileprivate let seen: Seen

  func get(_ path: String = "/") async throws -> HTTPClientResponse { try await get(url: server.url(path)) }
  func get(url: String) async throws -> HTTPClientResponse {
    try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
  }
  func execute(
    _ path: String = "/", urlTemplate: String? = nil, _ change: (inout HTTPClientRequest) -> Void
  ) async throws -> HTTPClientResponse {
    var request = HTTPClientRequest(url: server.url(path))
    change(&request)
    return try await client.execute(request, timeout: .seconds(60), urlTemplate: urlTemplate)
  }

  /// The next request that has ended; waits for it.
  func end() async throws -> RequestObservation {
    for await end in seen.ends { return end }
    throw CancellationError()
  }

  /// The next end, and the size of the response's body where that is given.
  @discardableResult
  func expectEnd(
    _ end: RequestEnd, received: Int64?? = .none, _ location: SourceLocation = #_sourceLocation
  ) async throws -> RequestObservation {
    let seen = try await self.end()
    #expect(seen.end == end, sourceLocation: location)
    if let received { #expect(seen.responseBodySize == received, sourceLocation: location) }
    return seen
  }

  /// What a task throws that was cancelled, and what its request has ended with.
  func expectCancelled(_ task: Task<Void, any Error>) async throws {
    await #expect(throws: CancellationError.self) { try await task.value }
    try await expectEnd(.cancelled)
  }

  /// The headers of this name as the server got them.
  var traceparents: [[String]] { server.requests.map { $0.head.headers["traceparent"] } }

  /// The sample lines of what a scrape gets.
  var samples: [Substring] {
    String(decoding: tap.registry.exposition(in: .text).body, as: UTF8.self)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
  }

  /// What the requests that have not ended wait for.
  var waits: [RequestWait?] { tap.activeRequests().map(\.wait) }

  /// How many requests have ended by now.
  var endCount: Int {
    let line = samples.first { $0.hasPrefix("session_tap_ended_requests_total") }
    return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
  }
}

/// The requests that have ended, in their order.
final class Seen: RequestObserver {
  let ends: AsyncStream<RequestObservation>
  private let continuation: AsyncStream<RequestObservation>.Continuation

  init() { (ends, continuation) = AsyncStream.makeStream() }
  func requestEnded(_ observation: RequestObservation) { continuation.yield(observation) }
}

extension Tap.Configuration {
  /// No endpoint, and an observer, which gets the headers that a log would show.
  static func observed(by seen: Seen) -> Self {
    var configuration = Self(environment: [:])
    configuration.endpoint = nil
    configuration.observers = [seen]
    configuration.logging.redaction.allowedRequestHeaders = ["Accept"]
    configuration.logging.redaction.allowedResponseHeaders = ["X-Served-By"]
    return configuration
  }
}

/// A client's configuration, but for one thing.
func configured(_ change: (inout HTTPClient.Configuration) -> Void) -> HTTPClient.Configuration {
  var configuration = HTTPClient.Configuration()
  change(&configuration)
  return configuration
}

/// Runs a test with a client and a server, and shuts them down after it.
///
/// - Parameters:
///   - tls: The server's side of TLS, or `nil` for plain text.
///   - configuration: The client's.
func withClient(
  tls: NIOSSLContext? = nil, _ configuration: HTTPClient.Configuration = .init(),
  _ script: @escaping OddServer.Script, _ body: (ClientFixture) async throws -> Void
) async throws {
  var configuration = configuration
  configuration.connectionPool.retryConnectionEstablishment = false
  let seen = Seen()
  let tap = try Tap(.observed(by: seen))
  let server = try await OddServer.start(tls: tls, script)
  let client = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
  let fixture = ClientFixture(
    server: server, client: TapHTTPClient("test", tap: tap, client: client), untapped: client, tap: tap,
    seen: seen)
  let result: Result<Void, any Error>
  do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
  try await client.shutdown()
  try await server.stop()
  try result.get()
}

/// The same, with one answer to all requests.
func withClient(
  tls: NIOSSLContext? = nil, _ configuration: HTTPClient.Configuration = .init(),
  answering steps: [OddServer.Step], _ body: (ClientFixture) async throws -> Void
) async throws {
  try await withClient(tls: tls, configuration, { _ in steps }, body)
}

func text(_ response: HTTPClientResponse) async throws -> String {
  String(buffer: try await response.body.collect(upTo: 1 << 20))
}
