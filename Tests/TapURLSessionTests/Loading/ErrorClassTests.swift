import TestSupport

@testable import TapURLSession

/// Classes of errors, each from a real failure: what the app sees stays as it is, and the tap says what it
/// was.
struct ErrorClassTests {
  /// Those that the scenarios of ``MatrixTests`` leave out.
  @Test(
    arguments: [
      ("http:///path", RequestErrorType.unsupportedURL), ("host/path", .unsupportedURL),
      // Foundation does not know a scheme in capitals.
      ("HTTP://127.0.0.1:1/", .unsupportedURL), ("http://127.0.0.1:1/#a-GET-with-a-body", .body),
    ], [Style.async, .completionHandler, .sessionDelegate])
  func `failures have a class`(failure: (url: String, type: RequestErrorType), style: Style) async throws {
    let request = with(URLRequest(url: try #require(URL(string: failure.url)))) {
      if failure.type == .body { $0.httpBody = Data("body".utf8) }
    }
    let call = AppCall(kind: .data, style: style, request: request)
    let (tap, observer) = URLSessionTap.observed()
    let stock = try await call.run(.ephemeral)
    let tapped = try await call.run(tap.sessionConfiguration(from: .ephemeral, client: "test"))
    #expect(stock.error != nil && tapped == stock)
    let observation = try await observer.end()
    #expect(observation.end == .failure(failure.type, statusCode: nil), "\(stock.error ?? "")")
    #expect(observation.responseBodySize == nil)
  }

  @Test func `an upload of a file that is not there fails by its body`() async throws {
    let origin = try Origin { _ in [.response()] }
    let request = with(URLRequest(url: origin.url())) { $0.httpMethod = "POST" }
    let (tap, observer) = URLSessionTap.observed()
    let error = await #expect(throws: URLError.self) {
      try await tap.session().upload(for: request, fromFile: URL(fileURLWithPath: "/no/such/file"))
    }
    #expect(error?.code == .fileDoesNotExist)
    #expect(try await observer.end().end == .failure(.body, statusCode: nil))
  }

  @Test(.needs(.program), .usesFrontServer)
  func `a certificate that is not trusted is a failure of TLS`() async throws {
    try await TrustedCertificate.prepare()
    let front = try await FrontServer.start(before: Origin { _ in [.response()] })
    let (tap, observer) = URLSessionTap.observed()
    // No exit test: this process does not trust it.
    await #expect(throws: URLError.self) { try await tap.session().data(from: front.url(.tls, "/")) }
    #expect(try await observer.end().end == .failure(.tls, statusCode: nil))
    try await front.stop()
  }

  /// Foundation's own time-out has no text. It counts whole seconds, and starts again with what arrives.
  @Test(
    arguments: [
      ("", 0.5, "no response within 0.0 s: timeoutInterval of 0.5 s, which Foundation cuts to whole seconds"),
      ("", 1.5, "no response within 1.0 s: timeoutInterval of 1.5 s, which Foundation cuts to whole seconds"),
      ("", 1, "no response within 1.0 s: timeoutIntervalForRequest"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na", 1, "no data for 1.0 s: timeoutInterval"),
    ], ["GET", "POST"])
  func `a time-out says what ran out`(end: (sent: String, timeout: Double, message: String), method: String)
    async throws
  {
    let isOfSession = end.message.hasSuffix("ForRequest")
    let base = URLSessionConfiguration.ephemeral
    if isOfSession { base.timeoutIntervalForRequest = end.timeout }
    let over = Gate()
    let origin = try Origin { _ in [.text(end.sent), .hold(over)] }
    defer { over.open() }
    let (tap, observer) = URLSessionTap.observed()
    let session = tap.session(base)
    var request = URLRequest(url: origin.url())
    if !isOfSession { request.timeoutInterval = end.timeout }
    if method == "POST" { (request.httpMethod, request.httpBody) = (method, Data([1, 2, 3])) }
    await #expect(throws: URLError.self) { try await session.data(for: request) }
    session.finishTasksAndInvalidate()
    let observation = try await observer.end()
    #expect(observation.errorMessage == end.message && observation.errorType == "timeout")
    // At once where the time-out is none.
    if end.timeout < 1 { return }
    // libcurl from 8.10 on knows the first byte of an upload's response.
    let isKnown = method == "GET" || Scenario.isCurl("8.10")
    let phase: RequestTimings.Phase = end.sent.isEmpty ? .processing : isKnown ? .transfer : .response
    #expect(observation.cutOffPhase == phase, "\(observation.timings)")
    guard end.sent.isEmpty else { return }
    #expect(observation.timings[.transfer] == nil && observation.timeToFirstByte == nil)
    // It counts from the start: what this process and the connection took is none of the server's.
    if method == "GET" { #expect(observation.phaseSum >= 900_000_000, "\(observation.timings)") }
  }

  /// libcurl says what proxy it cannot use. In a process of its own, since all sessions read the variable.
  @Test(.needs(.program)) func `the credentials of a proxy are in no message`() async {
    await #expect(processExitsWith: .success) {
      setenv("http_proxy", "http://user:s3cret@127.0.0.1:99999", 1)
      let (tap, observer) = URLSessionTap.observed()
      let session = tap.session()
      _ = try? await session.data(from: try #require(URL(string: "http://a.test/")))
      tap.flush()
      try await observer.waitForEnds(1)
      let message = observer.ended.first?.errorMessage ?? ""
      print(message)
      exit(message.contains("99999") && !message.contains("user") && !message.contains("s3cret") ? 0 : 1)
    }
  }

  /// A code decides, but for that by which Foundation calls an answer that is no HTTP an unsupported URL.
  @Test func `an error has the class of its code, or else of libcurl's words`() {
    func error(_ code: URLError.Code, _ words: String) -> URLError {
      URLError(code, userInfo: [NSLocalizedDescriptionKey: words])
    }
    let ofCurl = NSError(
      domain: NSURLErrorDomain, code: -1, userInfo: [NSLocalizedDescriptionKey: "Recv failure"])
    let outer = [NSLocalizedDescriptionKey: "SSL"] as [String: Any]
    let wrapped = URLError(.unknown, userInfo: outer.merging([NSUnderlyingErrorKey: ofCurl]) { $1 })
    let notHTTP = "Received HTTP/0.9 when not allowed"
    let errors: [any Error] = [
      error(.cannotFindHost, "SSL"), error(.unknown, "SSL"), wrapped, error(.unsupportedURL, notHTTP),
      error(.unsupportedURL, ""), CocoaError(.fileNoSuchFile),
    ]
    expectEqual(
      errors.map { RequestErrorType($0) },
      [.dns, .tls, .connectionLost, .invalidResponse, .unsupportedURL, .other])
    #expect(wrapped.curlMessage == "Recv failure")
  }

  /// The words of libcurl where a stream of HTTP/2 is cut (`on_stream_close` and `http2_handle_stream_close`
  /// in its `http2.c`, `curl_easy_strerror`), and of a chunk without a size before 8.6 and since
  /// (`httpchunk_readwrite` in its `http_chunks.c`).
  @Test func `libcurl's words have a class`() {
    let classes: KeyValuePairs<RequestErrorType, [String]> = [
      .tls: [
        "OpenSSL SSL_connect: Connection timed out in connection to a.test:443",
        "OpenSSL SSL_read: Connection reset by peer, errno 104",
        "Peer certificate cannot be authenticated with given CA certificates",
        "GnuTLS, handshake failed: A TLS fatal alert has been received.",
      ],
      .timeout: [
        "Timeout was reached", "Resolving timed out after 1000 milliseconds",
        "Failed to resolve host 'a.test' with timeout after 9 ms",
      ],
      .connectionLost: [
        "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", "HTTP/2 stream 1 was reset",
        "Stream error in the HTTP/2 framing layer", "Transferred a partial file",
        "transfer closed with 5 bytes remaining to read", "end of response with 5 bytes missing",
        "Failure when receiving data from the peer", "Recv failure: Network is down",
        "Send failure: Network is down", "Failed sending data to the peer", "Broken pipe",
        "outstanding read data remaining",
      ],
      .body: [
        "Illegal or missing hexadecimal sequence in chunked-encoding",
        "chunk hex-length char not a hex digit: 0x7a", "invalid chunk size: 'ffffffffffffffff'",
        "Unrecognized or bad HTTP Content or Transfer-Encoding", "read function returned funny value",
        "failed to decompress the content",
      ],
      // A host's name decides nothing.
      .dns: [
        "Couldn't resolve host name", "Could not resolve proxy: tls-proxy",
        "Could not resolve host: reset.certificate.test",
      ],
      .connect: [
        "Couldn't connect to server", "Failed to connect to ssl-gw.test port 80 after 3 ms: Timeout",
        "Received HTTP code 407 from proxy after CONNECT", "CONNECT tunnel failed, response 502",
        "Proxy CONNECT aborted",
      ],
      .other: ["Unsupported proxy scheme for 'tls-proxy'", ""],
      .invalidResponse: [
        "Received HTTP/0.9 when not allowed", "Header without colon",
        "Unsupported HTTP version (1.2) in response", "Nul byte in header",
        "Unsupported response code in HTTP response", "Invalid Content-Length: value",
        "Failed writing header", "Too large response headers: 307232 > 307200", "Weird server reply",
      ],
    ]
    for (type, messages) in classes {
      let others = messages.filter { RequestErrorType(curlMessage: $0) != type }
      expectEqual(others, [], "\(type)")
    }
  }
}
