import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import TapAsyncHTTPClient
import TapCore
import Testing
import Tracing

@Suite(.timeLimit(.minutes(1))) struct HTTPClientTests {
  /// What the app's stream throws.
  struct StreamError: Error {}

  // MARK: What is recorded

  @Test func `a request is recorded with its sizes, and has its trace in the header`() async throws {
    try await withClient(answering: [.response(body: "hello")]) { fixture in
      let response = try await fixture.execute("/users/42?token=1", urlTemplate: "/users/{id}") {
        ($0.method, $0.body) = (.POST, .bytes(ByteBuffer(string: "name=Ada")))
      }
      #expect(response.status == .ok)
      #expect(try await text(response) == "hello")
      let end = try await fixture.expectEnd(.response(statusCode: 200), received: 5)
      #expect(end.requestBodySize == 8)
      #expect((end.request.client, end.request.method) == ("test", "POST"))
      #expect((end.request.serverAddress, end.request.serverPort) == ("127.0.0.1", fixture.server.port))
      #expect(end.request.urlTemplate == "/users/{id}")
      let trace = try #require(end.request.traceContext)
      #expect(fixture.traceparents == [[trace.traceparent]])
    }
  }

  @Test func `headers that the log shows are recorded, of a response cut short too`() async throws {
    let headers = "content-length: 5\r\nx-served-by: a7\r\nx-served-by: b8\r\n"
    for body in ["hello", "he"] {
      let steps = [OddServer.Step.text("HTTP/1.1 200 OK\r\n\(headers)\r\n\(body)"), .close]
      try await withClient(answering: steps) { fixture in
        let headers: HTTPHeaders = ["Accept": "text/plain", "Authorization": "secret"]
        _ = try? await text(fixture.execute { $0.headers = headers })
        let end = try await fixture.end()
        #expect(end.request.headers == ["accept": "text/plain"])
        #expect(end.responseHeaders == ["x-served-by": "a7, b8"])
      }
    }
  }

  @Test(arguments: [404, 503])
  func `a status is an end, whatever it says`(code: Int) async throws {
    try await withClient(answering: [.response("\(code) No", body: "sorry")]) { fixture in
      #expect(try await text(fixture.get()) == "sorry")
      let end = try await fixture.end()
      #expect((end.end, end.errorType) == (.response(statusCode: code), "\(code)"))
      #expect((end.requestBodySize, end.responseBodySize) == (0, 5))
    }
  }

  @Test func `a body without a length is counted as it passes, part by part`() async throws {
    let (asked, begin, head, first) = (Event(), Event(), Event(), Event())
    try await withClient(answering: [
      .open(asked), .wait(begin), .text("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"), .wait(head),
      .text("3\r\nabc\r\n"), .wait(first), .text("4\r\ndefg\r\n0\r\n\r\n"),
    ]) { fixture in
      async let answer = fixture.get()
      await asked.wait()
      #expect(fixture.waits == [.response])
      begin.open()
      let response = try await answer
      #expect(fixture.waits == [.body])
      head.open()
      var parts = response.body.makeAsyncIterator()
      #expect(try await parts.next() == ByteBuffer(string: "abc"))
      // The rest is sent only now: nothing is held back until more has come.
      first.open()
      #expect(try await parts.next() == ByteBuffer(string: "defg"))
      #expect(fixture.endCount == 0)
      #expect(try await parts.next() == nil)
      let end = try await fixture.end()
      #expect(end.responseBodySize == 7 && fixture.waits.isEmpty)
    }
  }

  @Test(
    arguments: [
      (.GET, "204 No Content\r\n"), (.GET, "304 Not Modified\r\ncontent-length: 10\r\n"),
      (.GET, "200 OK\r\ncontent-length: 0\r\n"), (.HEAD, "200 OK\r\ncontent-length: 10\r\n"),
    ] as [(HTTPMethod, String)])
  func `a response without a body ends at its head`(method: HTTPMethod, head: String) async throws {
    try await withClient(answering: [.text("HTTP/1.1 \(head)\r\n")]) { fixture in
      let response = try await fixture.execute { $0.method = method }
      try await fixture.expectEnd(.response(statusCode: Int(response.status.code)), received: 0)
      #expect(try await text(response) == "")
    }
  }

  @Test
  func `a body that the client decodes has the size that was transferred, or an unknown one`() async throws {
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
        try await fixture.expectEnd(.response(statusCode: 200), received: .some(size.map(Int64.init)))
      }
    }
  }

  @Test func `without a tap, a request goes out as it is`() async throws {
    try await withClient(answering: [.response(body: "hello")]) { fixture in
      let bare = TapHTTPClient("test", tap: nil, client: fixture.untapped)
      let request = HTTPClientRequest(url: fixture.server.url())
      let response = try await bare.execute(request, timeout: .seconds(60))
      #expect(try await text(response) == "hello")
      #expect(fixture.traceparents == [[]])
      #expect(fixture.endCount == 0)
    }
  }

  // MARK: The trace

  @Test func `a request is a child of the one that is served`() async throws {
    let trace = try #require(
      TraceContext(traceparent: TraceContext.random().traceparent, tracestate: "vendor=1"))
    try await withClient(answering: [.response()]) { fixture in
      _ = try await TraceContext.$current.withValue(trace) { try await fixture.get() }
      let own = try #require(try await fixture.end().request.traceContext)
      #expect((own.traceID, own.spanID != trace.spanID) == (trace.traceID, true))
      #expect(fixture.traceparents == [[own.traceparent]])
      #expect(fixture.server.requests.map { $0.head.headers["tracestate"] } == [["vendor=1"]])
    }
  }

  @Test func `a header that the request has stays, and is the request's place in its trace`() async throws {
    let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    try await withClient(answering: [.response()]) { fixture in
      for header in [header, "not valid"] {
        _ = try await fixture.execute { $0.headers.add(name: "Traceparent", value: header) }
      }
      #expect(fixture.traceparents == [[header], ["not valid"]])
      let end = try await fixture.end()
      #expect(end.request.traceContext == TraceContext(traceparent: header))
      _ = try await fixture.end()
    }
  }

  @Test func `a client with a tracer sends the tracer's header, once`() async throws {
    try await withClient(configured { $0.tracing.tracer = FixedTracer() }, answering: [.response()]) {
      fixture in
      _ = try await ServiceContext.$current.withValue(.topLevel) { try await fixture.get() }
      _ = try await fixture.end()
      #expect(fixture.traceparents == [[FixedTracer.header]])
    }
  }

  // MARK: What is sent

  @Test(arguments: Upload.allCases)
  func `a request is sent as the client alone sends it`(upload: Upload) async throws {
    try await withClient(answering: [.response(body: "ok")]) { fixture in
      var request = HTTPClientRequest(url: fixture.server.url())
      request.method = .PUT
      request.body = upload.body
      _ = try await text(fixture.untapped.execute(request, timeout: .seconds(60)))
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

  @Test
  func `a stream that throws fails the request with its own error, after what has passed`() async throws {
    try await withClient(answering: [.response()]) { fixture in
      let stream = AsyncThrowingStream<ByteBuffer, any Error> { continuation in
        continuation.yield(ByteBuffer(string: "abc"))
        continuation.finish(throwing: StreamError())
      }
      await #expect(throws: StreamError.self) {
        try await fixture.execute { ($0.method, $0.body) = (.PUT, .stream(stream, length: .unknown)) }
      }
      let end = try await fixture.end()
      #expect((end.end, end.requestBodySize) == (.failure(.body, statusCode: nil), 3))
      // What the app's own errors say may be secret.
      #expect(end.errorMessage == nil)
    }
  }

  // MARK: Redirects

  @Test func `redirects that the client follows are one request, as it began and as it ended`() async throws {
    try await withClient { request in
      request.head.uri == "/a"
        ? [.response("302 Found", "location: /b", body: "moved")] : [.response("404 Not Found", body: "none")]
    } _: { fixture in
      let response = try await fixture.get("/a")
      #expect(response.history.count == 2)
      #expect(try await text(response) == "none")
      let end = try await fixture.expectEnd(.response(statusCode: 404), received: 4)
      #expect(end.request.url == fixture.server.url("/a"))
      let trace = try #require(end.request.traceContext)
      #expect(fixture.traceparents == Array(repeating: [trace.traceparent], count: 2))
    }
  }

  @Test(arguments: [true, false])
  func `a loop of redirects is too many`(isCycle: Bool) async throws {
    let limit = configured { $0.redirectConfiguration = .follow(max: 3, allowCycles: !isCycle) }
    try await withClient(limit, answering: [.response("302 Found", "location: /")]) { fixture in
      let error = isCycle ? HTTPClientError.redirectCycleDetected : .redirectLimitReached
      await #expect(throws: error) { try await fixture.get() }
      try await fixture.expectEnd(.failure(.tooManyRedirects, statusCode: nil))
    }
  }

  // MARK: All at once

  @Test func `400 requests at once, with failures of every kind, end once each`() async throws {
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
