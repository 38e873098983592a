import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import TapAsyncHTTPClient
import TapCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPClientEndTests {
  /// A response of which the second half does not come.
  private func half(_ code: Int = 200) -> OddServer.Step {
    .text("HTTP/1.1 \(code) X\r\ncontent-length: 10\r\n\r\nhello")
  }

  // MARK: Failures

  @Test func `no connection`() async throws {
    let refusing = try RefusingPort()
    try await withClient(answering: []) { fixture in
      await #expect(throws: (any Error).self) {
        try await fixture.get(url: "http://127.0.0.1:\(refusing.port)/")
      }
      let end = try await fixture.end()
      #expect((end.end, end.request.serverPort) == (.failure(.connect, statusCode: nil), refusing.port))
    }
  }

  @Test(arguments: [
    ("http://name.invalid/", RequestErrorType.dns), ("", .unsupportedURL), ("here", .unsupportedURL),
    ("http://", .unsupportedURL), ("ftp://127.0.0.1/", .unsupportedURL), ("http+unix://", .unsupportedURL),
  ])
  func `no address, or no URL that the client takes`(url: String, type: RequestErrorType) async throws {
    try await withClient(answering: []) { fixture in
      await #expect(throws: (any Error).self) { try await fixture.get(url: url) }
      try await fixture.expectEnd(.failure(type, statusCode: nil))
    }
  }

  @Test(arguments: [OddServer.Step.close, .reset, .text("SSH-2.0-server\r\n\r\n")])
  func `a connection that ends before the response, or has none of HTTP`(step: OddServer.Step) async throws {
    try await withClient(answering: [step]) { fixture in
      await #expect(throws: (any Error).self) {
        // Nothing sends it again.
        try await fixture.execute { ($0.method, $0.body) = (.POST, .bytes(ByteBuffer(string: "abc"))) }
      }
      let end = try await fixture.end()
      #expect((end.end, end.requestBodySize) == (.failure(.connectionLost, statusCode: nil), nil))
    }
  }

  @Test(arguments: [OddServer.Step.close, .reset])
  func `a connection that ends within the body`(step: OddServer.Step) async throws {
    let read = Event()
    try await withClient(answering: [half(), .wait(read), step]) { fixture in
      var parts = try await fixture.get().body.makeAsyncIterator()
      #expect(try await parts.next() == ByteBuffer(string: "hello"))
      read.open()
      await #expect(throws: (any Error).self) { try await parts.next() }
      try await fixture.expectEnd(.failure(.connectionLost, statusCode: 200), received: 5)
    }
  }

  @Test func `a server that never answers, and a deadline`() async throws {
    try await withClient(answering: []) { fixture in
      let request = HTTPClientRequest(url: fixture.server.url())
      await #expect(throws: HTTPClientError.deadlineExceeded) {
        try await fixture.client.execute(request, timeout: .milliseconds(100))
      }
      let end = try await fixture.end()
      #expect(end.errorMessage == "Deadline exceeded")
      #expect(end.end == .failure(.timeout, statusCode: nil))
    }
  }

  @Test func `a server that stops within the body, and the client's limit for reads`() async throws {
    // Long enough for the head to come on a busy machine.
    let limit = configured { $0.timeout.read = .seconds(2) }
    try await withClient(limit, answering: [half()]) { fixture in
      await #expect(throws: HTTPClientError.readTimeout) { try await text(fixture.get()) }
      try await fixture.expectEnd(.failure(.timeout, statusCode: 200), received: 5)
    }
  }

  @Test(arguments: [true, false])
  func `a certificate that is not trusted, and a server without TLS`(isServed: Bool) async throws {
    let context = isServed ? try selfSignedContext() : nil
    try await withClient(tls: context, answering: [.response()]) { fixture in
      await #expect(throws: (any Error).self) {
        try await fixture.get(url: "https://localhost:\(fixture.server.port)/")
      }
      try await fixture.expectEnd(.failure(.tls, statusCode: nil))
    }
  }

  // MARK: Cancels, and bodies that are let go

  @Test func `a task that is cancelled while it waits for the response`() async throws {
    let asked = Event()
    try await withClient(answering: [.open(asked)]) { fixture in
      let task = Task { _ = try await fixture.get() }
      await asked.wait()
      task.cancel()
      try await fixture.expectCancelled(task)
    }
  }

  @Test func `a task that was cancelled before`() async throws {
    try await withClient(answering: []) { fixture in
      let begin = Event()
      let task = Task {
        await begin.wait()
        _ = try await fixture.get()
      }
      task.cancel()
      begin.open()
      try await fixture.expectCancelled(task)
    }
  }

  @Test func `a task that is cancelled while the body comes`() async throws {
    let read = Event()
    try await withClient(answering: [half(500)]) { fixture in
      let task = Task { for try await _ in try await fixture.get().body { read.open() } }
      await read.wait()
      task.cancel()
      try await fixture.expectCancelled(task)
    }
  }

  @Test func `a client that is shut down while a request waits`() async throws {
    let asked = Event()
    try await withClient(answering: [.open(asked)]) { fixture in
      let untapped = HTTPClient(eventLoopGroup: .singletonMultiThreadedEventLoopGroup)
      let other = TapHTTPClient("test", tap: fixture.tap, client: untapped)
      let url = fixture.server.url()
      let task = Task { _ = try await other.execute(HTTPClientRequest(url: url), timeout: .seconds(60)) }
      await asked.wait()
      try await untapped.shutdown()
      await #expect(throws: HTTPClientError.cancelled) { try await task.value }
      try await fixture.expectEnd(.cancelled)
    }
  }

  @Test(arguments: [200, 500])
  func `a body that nothing is read of: the caller wanted the status`(code: Int) async throws {
    try await withClient(answering: [half(code)]) { fixture in
      #expect(try await fixture.get().status.code == UInt(code))
      try await fixture.expectEnd(.response(statusCode: code), received: .some(nil))
    }
  }

  @Test func `a body that nothing is read of, in a cancelled task`() async throws {
    try await withClient(answering: [half()]) { fixture in
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
      try await fixture.expectCancelled(task)
    }
  }

  @Test(arguments: [200, 500])
  func `a body that is let go midway is cancelled, unless it tells of an error`(code: Int) async throws {
    try await withClient(answering: [half(code)]) { fixture in
      let response = try await fixture.get()
      for try await _ in response.body { break }
      // The response is still held: what is read of it is what counts.
      try await fixture.expectEnd(
        code == 200 ? .cancelled : .response(statusCode: code), received: .some(nil))
      #expect(response.headers.first(name: "content-length") == "10")
    }
  }

  @Test func `a body that is read to its last byte and no further is whole`() async throws {
    try await withClient(answering: [.response(body: "hello")]) { fixture in
      let response = try await fixture.get()
      var count = 0
      for try await part in response.body {
        count += part.readableBytes
        if count == 5 { break }
      }
      try await fixture.expectEnd(.response(statusCode: 200), received: 5)
    }
  }

  @Test func `a body that is longer than the caller accepts`() async throws {
    try await withClient(answering: [half()]) { fixture in
      await #expect(throws: NIOTooManyBytesError.self) { try await fixture.get().body.collect(upTo: 4) }
      try await fixture.expectEnd(.cancelled)
    }
  }

  @Test func `a body has one reader, as the client's own`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      try await withClient(answering: [.response(body: "hello")]) { fixture in
        let response = try await fixture.get()
        _ = (response.body.makeAsyncIterator(), response.body.makeAsyncIterator())
      }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("makeAsyncIterator() is only allowed to be called at most once"))
  }
}
