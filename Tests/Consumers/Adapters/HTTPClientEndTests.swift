import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import TapAsyncHTTPClient
import TapCore
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPClientEndTests {
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

  @Test func `no address`() async throws {
    try await withClient(answering: []) { fixture in
      await #expect(throws: (any Error).self) { try await fixture.get(url: "http://name.invalid/") }
      let end = try await fixture.end()
      #expect(end.end == .failure(.dns, statusCode: nil))
    }
  }

  @Test(arguments: ["", "here", "http://", "ftp://127.0.0.1/", "http+unix://"])
  func `no URL that the client takes`(url: String) async throws {
    try await withClient(answering: []) { fixture in
      await #expect(throws: HTTPClientError.self) { try await fixture.get(url: url) }
      let end = try await fixture.end()
      #expect(end.end == .failure(.unsupportedURL, statusCode: nil))
    }
  }

  @Test(arguments: [OddServer.Step.close, .reset])
  func `a connection that ends before the response`(step: OddServer.Step) async throws {
    try await withClient(answering: [step]) { fixture in
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

  @Test(arguments: [OddServer.Step.close, .reset])
  func `a connection that ends within the body`(step: OddServer.Step) async throws {
    let read = Event()
    try await withClient(answering: [
      .text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"), .wait(read), step,
    ]) { fixture in
      var parts = try await fixture.get().body.makeAsyncIterator()
      #expect(try await parts.next() == ByteBuffer(string: "hello"))
      read.open()
      await #expect(throws: (any Error).self) { try await parts.next() }
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.failure(.connectionLost, statusCode: 200), 5))
    }
  }

  @Test func `an answer that is not HTTP`() async throws {
    try await withClient(answering: [.text("SSH-2.0-server\r\n\r\n")]) { fixture in
      await #expect(throws: (any Error).self) { try await fixture.get() }
      let end = try await fixture.end()
      #expect(end.end == .failure(.connectionLost, statusCode: nil))
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
    try await withClient(limit, answering: [.text("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello")]) {
      fixture in
      await #expect(throws: HTTPClientError.readTimeout) { try await text(fixture.get()) }
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.failure(.timeout, statusCode: 200), 5))
    }
  }

  @Test(arguments: [true, false])
  func `a certificate that is not trusted, and a server without TLS`(isServed: Bool) async throws {
    let context = isServed ? try selfSignedContext() : nil
    try await withClient(tls: context, answering: [.response()]) { fixture in
      await #expect(throws: (any Error).self) {
        try await fixture.get(url: "https://localhost:\(fixture.server.port)/")
      }
      let end = try await fixture.end()
      #expect(end.end == .failure(.tls, statusCode: nil))
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
    try await withClient(answering: [.text("HTTP/1.1 500 No\r\ncontent-length: 10\r\n\r\nhello")]) {
      fixture in
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
      let other = TapHTTPClient(client: untapped, name: "test", outbound: fixture.outbound)
      let url = fixture.server.url()
      let task = Task { _ = try await other.execute(HTTPClientRequest(url: url), timeout: .seconds(60)) }
      await asked.wait()
      try await untapped.shutdown()
      await #expect(throws: HTTPClientError.cancelled) { try await task.value }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
    }
  }

  @Test(arguments: [200, 500])
  func `a body that nothing is read of: the caller wanted the status`(code: Int) async throws {
    try await withClient(answering: [.text("HTTP/1.1 \(code) X\r\ncontent-length: 10\r\n\r\nhello")]) {
      fixture in
      #expect(try await fixture.get().status.code == UInt(code))
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.response(statusCode: code), nil))
    }
  }

  @Test func `a body that nothing is read of, in a cancelled task`() async throws {
    try await withClient(answering: [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello")]) {
      fixture in
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
    try await withClient(answering: [.text("HTTP/1.1 \(code) X\r\ncontent-length: 10\r\n\r\nhello")]) {
      fixture in
      let response = try await fixture.get()
      for try await _ in response.body { break }
      // The response is still held: what is read of it is what counts.
      let end = try await fixture.end()
      #expect(end.end == (code == 200 ? .cancelled : .response(statusCode: code)))
      #expect(end.responseBodySize == nil)
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
      let end = try await fixture.end()
      #expect((end.end, end.responseBodySize) == (.response(statusCode: 200), 5))
    }
  }

  @Test func `a body that is longer than the caller accepts`() async throws {
    try await withClient(answering: [.text("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello")]) {
      fixture in
      await #expect(throws: NIOTooManyBytesError.self) { try await fixture.get().body.collect(upTo: 4) }
      let end = try await fixture.end()
      #expect(end.end == .cancelled)
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
