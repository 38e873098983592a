import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import TapCore
import Testing
import Tracing

@testable import TapAdapters

@Suite("AsyncHTTPClient in the tap", .timeLimit(.minutes(1)))
struct HTTPClientTests {
  /// What the app's stream throws.
  struct Mishap: Error {}

  /// A client, the server that it talks to, and what the tap records.
  struct Fixture: Sendable {
    let server: OddServer
    let client: TapHTTPClient
    fileprivate let seen: Seen
    fileprivate let registry: Registry

    func get(_ path: String = "/") async throws -> HTTPClientResponse { try await get(url: server.url(path)) }
    func get(url: String) async throws -> HTTPClientResponse {
      try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
    }

    /// The next request that has ended; waits for it.
    func end() async throws -> RequestObservation {
      for await end in seen.ends { return end }
      throw CancellationError()
    }

    /// The headers of this name as the server got them.
    var traceparents: [[String]] { server.requests.map { $0.head.headers["traceparent"] } }

    /// The sample lines of what a scrape gets.
    var samples: [Substring] {
      String(decoding: registry.exposition(in: .text).bytes, as: UTF8.self)
        .split(separator: "\n").filter { !$0.hasPrefix("#") }
    }

    /// How many requests have ended by now.
    var endCount: Int {
      let line = samples.first { $0.hasPrefix("session_tap_ended_requests_total") }
      return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
  }

  fileprivate final class Seen: RequestObserver {
    let ends: AsyncStream<RequestObservation>
    private let continuation: AsyncStream<RequestObservation>.Continuation

    init() { (ends, continuation) = AsyncStream.makeStream() }
    func requestStarted(_ request: RequestDescription) {}
    func requestEnded(_ observation: RequestObservation) { continuation.yield(observation) }
  }

  private func configured(_ change: (inout HTTPClient.Configuration) -> Void) -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    change(&configuration)
    return configuration
  }

  /// - Parameters:
  ///   - tls: The server's side of TLS, or `nil` for plain text.
  ///   - configuration: The client's.
  private func withClient(
    tls: NIOSSLContext? = nil, _ configuration: HTTPClient.Configuration = .init(),
    _ script: @escaping OddServer.Script, _ body: (Fixture) async throws -> Void
  ) async throws {
    var configuration = configuration
    configuration.connectionPool.retryConnectionEstablishment = false
    let (registry, seen) = (Registry(), Seen())
    let recorder = try RequestRecorder(registry: registry, observers: [seen])
    let server = try await OddServer.start(tls: tls, script)
    let client = HTTPClient(
      eventLoopGroup: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
    let fixture = Fixture(
      server: server, client: TapHTTPClient(client: client, name: "test", outbound: recorder.outbound),
      seen: seen, registry: registry)
    let result: Result<Void, any Error>
    do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
    try await client.shutdown()
    try await server.stop()
    try result.get()
  }

  private func text(_ response: HTTPClientResponse) async throws -> String {
    String(buffer: try await response.body.collect(upTo: 1 << 20))
  }

  // MARK: What is recorded

  @Test("a request is recorded with its sizes, and has its trace in the header")
  func whole() async throws {
    try await withClient { _ in
      [.response(body: "hello")]
    } _: { fixture in
      var request = HTTPClientRequest(url: fixture.server.url("/users/42?token=1"))
      request.method = .POST
      request.body = .bytes(ByteBuffer(string: "name=Ada"))
      let response = try await fixture.client.execute(
        request, timeout: .seconds(60), urlTemplate: "/users/{id}")
      #expect(response.status == .ok)
      #expect(try await text(response) == "hello")
      let end = try await fixture.end()
      #expect(end.end == .response(statusCode: 200))
      #expect((end.requestBodySize, end.responseBodySize) == (8, 5))
      #expect((end.request.client, end.request.method) == ("test", "POST"))
      #expect((end.request.serverAddress, end.request.serverPort) == ("127.0.0.1", fixture.server.port))
      #expect(end.request.urlTemplate == "/users/{id}")
      let trace = try #require(end.request.traceContext)
      #expect(fixture.traceparents == [[trace.traceparent]])
    }
  }

  @Test("a status is an end, whatever it says", arguments: [404, 503])
  func status(code: Int) async throws {
    try await withClient { _ in
      [.response("\(code) No", body: "sorry")]
    } _: { fixture in
      #expect(try await text(fixture.get()) == "sorry")
      let end = try await fixture.end()
      #expect((end.end, end.errorType) == (.response(statusCode: code), "\(code)"))
      #expect((end.requestBodySize, end.responseBodySize) == (0, 5))
    }
  }

  @Test("a body without a length is counted as it passes, part by part")
  func chunked() async throws {
    let (head, first) = (Event(), Event())
    try await withClient { _ in
      [
        .text("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), .wait(head),
        .text("3\r\nabc\r\n"), .wait(first), .text("4\r\ndefg\r\n0\r\n\r\n"),
      ]
    } _: { fixture in
      let response = try await fixture.get()
      head.open()
      var parts = response.body.makeAsyncIterator()
      #expect(try await parts.next() == ByteBuffer(string: "abc"))
      // The rest is sent only now: nothing is held back until more has come.
      first.open()
      #expect(try await parts.next() == ByteBuffer(string: "defg"))
      #expect(fixture.endCount == 0)
      #expect(try await parts.next() == nil)
      let end = try await fixture.end()
      #expect(end.responseBodySize == 7)
    }
  }

  @Test(
    "a response without a body ends at its head",
    arguments: [
      (.GET, "204 No Content\r\n"), (.GET, "304 Not Modified\r\ncontent-length: 10\r\n"),
      (.GET, "200 OK\r\ncontent-length: 0\r\n"), (.HEAD, "200 OK\r\ncontent-length: 10\r\n"),
    ] as [(HTTPMethod, String)])
  func bodiless(method: HTTPMethod, head: String) async throws {
    try await withClient { _ in
      [.text("HTTP/1.1 \(head)\r\n")]
    } _: { fixture in
      var request = HTTPClientRequest(url: fixture.server.url())
      request.method = method
      let response = try await fixture.client.execute(request, timeout: .seconds(60))
      let end = try await fixture.end()
      #expect(end.end == .response(statusCode: Int(response.status.code)))
      #expect(end.responseBodySize == 0)
      #expect(try await text(response) == "")
    }
  }

  @Test("a body that the client decodes has the size that was transferred, or an unknown one")
  func decoded() async throws {
    let bytes: [UInt8] = [
      31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 87, 200, 160, 59, 9, 0, 47, 250, 248, 72, 120,
      0, 0, 0,
    ]
    let decoding = configured { $0.decompression = .enabled(limit: .none) }
    try await withClient(decoding) { request in
      let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n"
      if request.head.uri == "/length" {
        return [.text(head + "content-length: \(bytes.count)\r\n\r\n"), .send(bytes)]
      }
      let chunk = "transfer-encoding: chunked\r\n\r\n\(String(bytes.count, radix: 16))\r\n"
      return [.text(head + chunk), .send(bytes), .text("\r\n0\r\n\r\n")]
    } _: { fixture in
      for (path, size) in [("/length", bytes.count), ("/chunked", nil)] {
        #expect(try await text(fixture.get(path)).utf8.count == 120)
        let end = try await fixture.end()
        #expect((end.end, end.responseBodySize) == (.response(statusCode: 200), size.map(Int64.init)))
      }
    }
  }

  @Test("without a tap, a request goes out as it is")
  func untapped() async throws {
    try await withClient { _ in
      [.response(body: "hello")]
    } _: { fixture in
      let bare = TapHTTPClient(client: fixture.client.client, name: "test", outbound: nil)
      let request = HTTPClientRequest(url: fixture.server.url())
      let response = try await bare.execute(request, timeout: .seconds(60))
      #expect(try await text(response) == "hello")
      #expect(fixture.traceparents == [[]])
      #expect(fixture.endCount == 0)
    }
  }

  // MARK: The trace

  @Test("a request is a child of the one that is served")
  func child() async throws {
    let trace = TraceContext.random()
    try await withClient { _ in
      [.response()]
    } _: { fixture in
      _ = try await TraceContext.$current.withValue(trace) { try await fixture.get() }
      let own = try #require(try await fixture.end().request.traceContext)
      #expect((own.traceID, own.spanID != trace.spanID) == (trace.traceID, true))
      #expect(fixture.traceparents == [[own.traceparent]])
    }
  }

  @Test("a header that the request has stays, and is the request's place in its trace")
  func ownHeader() async throws {
    let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    try await withClient { _ in
      [.response()]
    } _: { fixture in
      for header in [header, "not valid"] {
        var request = HTTPClientRequest(url: fixture.server.url())
        request.headers.add(name: "Traceparent", value: header)
        _ = try await fixture.client.execute(request, timeout: .seconds(60))
      }
      #expect(fixture.traceparents == [[header], ["not valid"]])
      let end = try await fixture.end()
      #expect(end.request.traceContext == TraceContext(traceparent: header))
      _ = try await fixture.end()
    }
  }

  @Test("a client with a tracer sends the tracer's header, once")
  func tracer() async throws {
    try await withClient(configured { $0.tracing.tracer = FixedTracer() }) { _ in
      [.response()]
    } _: { fixture in
      _ = try await ServiceContext.$current.withValue(.topLevel) { try await fixture.get() }
      _ = try await fixture.end()
      #expect(fixture.traceparents == [[FixedTracer.header]])
    }
  }

  // MARK: What is sent

  @Test("a request is sent as the client alone sends it", arguments: Upload.allCases)
  func traffic(upload: Upload) async throws {
    try await withClient { _ in
      [.response(body: "ok")]
    } _: { fixture in
      var request = HTTPClientRequest(url: fixture.server.url())
      request.method = .PUT
      request.body = upload.body
      _ = try await text(fixture.client.client.execute(request, timeout: .seconds(60)))
      request.body = upload.body
      _ = try await text(fixture.client.execute(request, timeout: .seconds(60)))
      let requests = fixture.server.requests
      try #require(requests.count == 2)
      let (stock, tapped) = (requests[0], requests[1])
      var headers = tapped.head.headers
      headers.remove(name: "traceparent")
      #expect(headers == stock.head.headers)
      #expect(tapped.body == stock.body)
      let end = try await fixture.end()
      #expect(end.requestBodySize == upload.size)
    }
  }

  /// The kinds of bodies that AsyncHTTPClient has.
  enum Upload: CaseIterable {
    case none, buffer, array, collection, collectionOfUnknownLength, sequence
    case stream, streamOfUnknownLength, emptyStream

    private static let text = "abcdefghi"
    private static let parts = ["abc", "", "defghi"].map { ByteBuffer(string: $0) }

    var size: Int64? {
      switch self {
      case .none, .emptyStream: 0
      case .collectionOfUnknownLength: nil
      default: 9
      }
    }

    var body: HTTPClientRequest.Body? {
      switch self {
      case .none: nil
      case .buffer: .bytes(ByteBuffer(string: Self.text))
      case .array: .bytes(Array(Self.text.utf8))
      case .collection: .bytes(Self.text.utf8, length: .known(Int64(9)))
      case .collectionOfUnknownLength: .bytes(Self.text.utf8, length: .unknown)
      case .sequence: .bytes(stride(from: UInt8(97), to: 106, by: 1), length: .known(Int64(9)))
      case .stream: .stream(parts(Self.parts), length: .known(Int64(9)))
      case .streamOfUnknownLength: .stream(parts(Self.parts), length: .unknown)
      case .emptyStream: .stream(parts([]), length: .unknown)
      }
    }

    private func parts(_ parts: [ByteBuffer]) -> AsyncStream<ByteBuffer> {
      AsyncStream { continuation in
        for part in parts { continuation.yield(part) }
        continuation.finish()
      }
    }
  }

  @Test("a stream that throws fails the request with its own error, after what has passed")
  func brokenUpload() async throws {
    try await withClient { _ in
      [.response()]
    } _: { fixture in
      var request = HTTPClientRequest(url: fixture.server.url())
      request.method = .PUT
      let stream = AsyncThrowingStream<ByteBuffer, any Error> { continuation in
        continuation.yield(ByteBuffer(string: "abc"))
        continuation.finish(throwing: Mishap())
      }
      request.body = .stream(stream, length: .unknown)
      await #expect(throws: Mishap.self) { try await fixture.client.execute(request, timeout: .seconds(60)) }
      let end = try await fixture.end()
      #expect((end.end, end.requestBodySize) == (.failure(.body, statusCode: nil), 3))
      // What the app's own errors say may be secret.
      #expect(end.errorMessage == nil)
    }
  }

  // MARK: Redirects

  @Test("redirects that the client follows are one request, as it began and as it ended")
  func redirects() async throws {
    try await withClient { request in
      request.head.uri == "/a"
        ? [.response("302 Found", "location: /b", body: "moved")] : [.response("404 Not Found", body: "none")]
    } _: { fixture in
      let response = try await fixture.get("/a")
      #expect(response.history.count == 2)
      #expect(try await text(response) == "none")
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.response(statusCode: 404), 4))
      #expect(end.request.url == fixture.server.url("/a"))
      let trace = try #require(end.request.traceContext)
      #expect(fixture.traceparents == Array(repeating: [trace.traceparent], count: 2))
    }
  }

  @Test("a loop of redirects is too many", arguments: [true, false])
  func redirectLoop(isCycle: Bool) async throws {
    let limit = configured { $0.redirectConfiguration = .follow(max: 3, allowCycles: !isCycle) }
    try await withClient(limit) { _ in
      [.response("302 Found", "location: /")]
    } _: { fixture in
      let error = isCycle ? HTTPClientError.redirectCycleDetected : .redirectLimitReached
      await #expect(throws: error) { try await fixture.get() }
      let end = try await fixture.end()
      #expect(end.end == .failure(.tooManyRedirects, statusCode: nil))
    }
  }

  // MARK: Failures

  @Test("no connection")
  func refused() async throws {
    let refusing = try RefusingPort()
    try await withClient { _ in
      []
    } _: { fixture in
      await #expect(throws: (any Error).self) {
        try await fixture.get(url: "http://127.0.0.1:\(refusing.port)/")
      }
      let end = try await fixture.end()
      #expect((end.end, end.request.serverPort) == (.failure(.connect, statusCode: nil), refusing.port))
    }
  }

  @Test("no address")
  func unresolvable() async throws {
    try await withClient { _ in
      []
    } _: { fixture in
      await #expect(throws: (any Error).self) { try await fixture.get(url: "http://name.invalid/") }
      let end = try await fixture.end()
      #expect(end.end == .failure(.dns, statusCode: nil))
    }
  }

  @Test(
    "no URL that the client takes", arguments: ["", "here", "http://", "ftp://127.0.0.1/", "http+unix://"])
  func unsupported(url: String) async throws {
    try await withClient { _ in
      []
    } _: { fixture in
      await #expect(throws: HTTPClientError.self) { try await fixture.get(url: url) }
      let end = try await fixture.end()
      #expect(end.end == .failure(.unsupportedURL, statusCode: nil))
    }
  }

  @Test("a connection that ends before the response", arguments: [OddServer.Step.close, .reset])
  func lostEarly(step: OddServer.Step) async throws {
    try await withClient { _ in
      [step]
    } _: { fixture in
      var request = HTTPClientRequest(url: fixture.server.url())
      request.method = .POST  // Nothing sends it again.
      request.body = .bytes(ByteBuffer(string: "abc"))
      await #expect(throws: (any Error).self) {
        try await fixture.client.execute(request, timeout: .seconds(60))
      }
      let end = try await fixture.end()
      #expect((end.end, end.requestBodySize) == (.failure(.connectionLost, statusCode: nil), nil))
    }
  }

  @Test("a connection that ends within the body", arguments: [OddServer.Step.close, .reset])
  func lostMidway(step: OddServer.Step) async throws {
    let read = Event()
    try await withClient { _ in
      [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"), .wait(read), step]
    } _: { fixture in
      var parts = try await fixture.get().body.makeAsyncIterator()
      #expect(try await parts.next() == ByteBuffer(string: "hello"))
      read.open()
      await #expect(throws: (any Error).self) { try await parts.next() }
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.failure(.connectionLost, statusCode: 200), 5))
    }
  }

  @Test("an answer that is not HTTP")
  func garbage() async throws {
    try await withClient { _ in
      [.text("SSH-2.0-server\r\n\r\n")]
    } _: { fixture in
      await #expect(throws: (any Error).self) { try await fixture.get() }
      let end = try await fixture.end()
      #expect(end.end == .failure(.connectionLost, statusCode: nil))
    }
  }

  @Test("a server that never answers, and a deadline")
  func deadline() async throws {
    try await withClient { _ in
      []
    } _: { fixture in
      let request = HTTPClientRequest(url: fixture.server.url())
      await #expect(throws: HTTPClientError.deadlineExceeded) {
        try await fixture.client.execute(request, timeout: .milliseconds(100))
      }
      let end = try await fixture.end()
      #expect(end.errorMessage == "Deadline exceeded")
      #expect(end.end == .failure(.timeout, statusCode: nil))
    }
  }

  @Test("a server that stops within the body, and the client's limit for reads")
  func readTimeout() async throws {
    // Long enough for the head to come on a busy machine.
    let limit = configured { $0.timeout.read = .seconds(2) }
    try await withClient(limit) { _ in
      [.text("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello")]
    } _: { fixture in
      await #expect(throws: HTTPClientError.readTimeout) { try await text(fixture.get()) }
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.failure(.timeout, statusCode: 200), 5))
    }
  }

  @Test("a certificate that is not trusted, and a server without TLS", arguments: [true, false])
  func tls(isServed: Bool) async throws {
    let context = isServed ? try selfSignedContext() : nil
    try await withClient(tls: context) { _ in
      [.response()]
    } _: { fixture in
      await #expect(throws: (any Error).self) {
        try await fixture.get(url: "https://localhost:\(fixture.server.port)/")
      }
      let end = try await fixture.end()
      #expect(end.end == .failure(.tls, statusCode: nil))
    }
  }

  // MARK: Cancels, and bodies that are let go

  @Test("a task that is cancelled while it waits for the response")
  func cancelledEarly() async throws {
    let asked = Event()
    try await withClient { _ in
      [.open(asked)]
    } _: { fixture in
      let task = Task { _ = try await fixture.get() }
      await asked.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a task that was cancelled before")
  func cancelledBefore() async throws {
    try await withClient { _ in
      []
    } _: { fixture in
      let begin = Event()
      let task = Task {
        await begin.wait()
        _ = try await fixture.get()
      }
      task.cancel()
      begin.open()
      await #expect(throws: CancellationError.self) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a task that is cancelled while the body comes")
  func cancelledMidway() async throws {
    let read = Event()
    try await withClient { _ in
      [.text("HTTP/1.1 500 No\r\ncontent-length: 10\r\n\r\nhello")]
    } _: { fixture in
      let task = Task {
        for try await _ in try await fixture.get().body { read.open() }
      }
      await read.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a client that is shut down while a request waits")
  func shutDown() async throws {
    let asked = Event()
    try await withClient { _ in
      [.open(asked)]
    } _: { fixture in
      let other = TapHTTPClient(
        client: HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup), name: "test",
        outbound: fixture.client.outbound)
      let url = fixture.server.url()
      let task = Task { _ = try await other.execute(HTTPClientRequest(url: url), timeout: .seconds(60)) }
      await asked.wait()
      try await other.client.shutdown()
      await #expect(throws: HTTPClientError.cancelled) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a body that nothing is read of: the caller wanted the status", arguments: [200, 500])
  func unread(code: Int) async throws {
    try await withClient { _ in
      [.text("HTTP/1.1 \(code) X\r\ncontent-length: 10\r\n\r\nhello")]
    } _: { fixture in
      #expect(try await fixture.get().status.code == UInt(code))
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.response(statusCode: code), nil))
    }
  }

  @Test("a body that nothing is read of, in a cancelled task")
  func unreadAndCancelled() async throws {
    let asked = Event()
    try await withClient { _ in
      [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"), .open(asked)]
    } _: { fixture in
      let (answered, cancelled) = (Event(), Event())
      let task = Task {
        let response = try await fixture.get()
        answered.open()
        await cancelled.wait()
        try Task.checkCancellation()
        _ = try await text(response)
      }
      await answered.wait()
      task.cancel()
      cancelled.open()
      await #expect(throws: CancellationError.self) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a body that is let go midway is cancelled, unless it tells of an error", arguments: [200, 500])
  func abandoned(code: Int) async throws {
    try await withClient { _ in
      [.text("HTTP/1.1 \(code) X\r\ncontent-length: 10\r\n\r\nhello")]
    } _: { fixture in
      let response = try await fixture.get()
      for try await _ in response.body { break }
      // The response is still held: what is read of it is what counts.
      let end = try await fixture.end()
      #expect(end.end == (code == 200 ? .cancelled : .response(statusCode: code)))
      #expect(end.responseBodySize == nil)
      #expect(response.headers.first(name: "content-length") == "10")
    }
  }

  @Test("a body that is read to its last byte and no further is whole")
  func exact() async throws {
    try await withClient { _ in
      [.response(body: "hello")]
    } _: { fixture in
      let response = try await fixture.get()
      var count = 0
      for try await part in response.body {
        count += part.readableBytes
        if count == 5 { break }
      }
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.response(statusCode: 200), 5))
    }
  }

  @Test("a body that is longer than the caller accepts")
  func tooLong() async throws {
    try await withClient { _ in
      [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello")]
    } _: { fixture in
      await #expect(throws: NIOTooManyBytesError.self) { try await fixture.get().body.collect(upTo: 4) }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test("a body has one reader, as the client's own")
  func twoReaders() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await HTTPClientTests().withClient { _ in
        [.response(body: "hello")]
      } _: { fixture in
        let response = try await fixture.get()
        _ = (response.body.makeAsyncIterator(), response.body.makeAsyncIterator())
      }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("makeAsyncIterator() is only allowed to be called at most once"))
  }

  // MARK: All at once

  @Test("of many requests at once, with every misfortune, each ends once")
  func many() async throws {
    let count = 400
    let pool = configured { $0.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32 }
    try await withClient(pool) { request in
      switch Int(request.head.uri.dropFirst()).map({ $0 % 8 }) {
      case 0: [.close]
      case 1: [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"), .close]
      case 2: [.response("302 Found", "location: /3")]
      case 3: [.response("204 No Content")]
      case 4: []
      case 5: [.text("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")]
      default: [.response("503 Busy", body: "hello")]
      }
    } _: { fixture in
      await withTaskGroup { group in
        for number in 0..<count {
          group.addTask {
            var request = HTTPClientRequest(url: fixture.server.url("/\(number)"))
            if number % 3 == 0 {
              request.method = .PUT
              request.body = Upload.streamOfUnknownLength.body
            }
            let limit = TimeAmount.milliseconds(number % 8 == 4 ? Int64(number % 40) : 60_000)
            guard let response = try? await fixture.client.execute(request, timeout: limit) else { return }
            switch number % 8 {
            case 5: _ = try? await response.body.first { _ in true }
            case 7: break
            default: _ = try? await text(response)
            }
          }
        }
      }
      for _ in 0..<count { _ = try await fixture.end() }
      let samples = fixture.samples
      #expect(samples.contains(#"session_tap_started_requests_total{client="test"} \#(count)"#))
      #expect(samples.contains(#"session_tap_ended_requests_total{client="test"} \#(count)"#))
      #expect(
        samples.filter { $0.hasPrefix("http_client_active_requests") }.allSatisfy { $0.hasSuffix(" 0") })
    }
  }
}

/// A tracer that writes one and the same header.
private struct FixedTracer: Tracer {
  static let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    injector.inject(Self.header, forKey: "traceparent", into: &carrier)
  }

  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> NoOpTracer.NoOpSpan { NoOpTracer.NoOpSpan(context: context()) }

  func forceFlush() {}
}
