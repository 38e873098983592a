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
      ("HTTP://127.0.0.1:1/", .unsupportedURL), ("HTTPS://127.0.0.1:1/", .unsupportedURL),
      ("http://fails.test/", .other), ("http://127.0.0.1:1/#a-GET-with-a-body", .body),
    ], [Style.async, .completionHandler, .sessionDelegate])
  func `failures have a class`(failure: (url: String, type: RequestErrorType), style: Style) async throws {
    let request = with(URLRequest(url: try #require(URL(string: failure.url)))) {
      if failure.type == .body { $0.httpBody = Data("body".utf8) }
    }
    try await Self.expect(failure.type, AppCall(kind: .data, style: style, request: request))
  }

  @Test func `an upload of a file that is not there fails by its body`() async throws {
    let origin = try Origin { _ in [.response()] }
    let request = with(URLRequest(url: origin.url())) { $0.httpMethod = "POST" }
    let (tap, observer) = URLSessionTap.observed()
    let session = tap.session()
    do {
      _ = try await session.upload(for: request, fromFile: URL(fileURLWithPath: "/no/such/file"))
      Issue.record("there is no such file")
    } catch {
      #expect((error as? URLError)?.code == .fileDoesNotExist)
    }
    tap.flush()
    expectEqual(observer.ended.map(\.end), [.failure(.body, statusCode: nil)])
  }

  @Test(.needs(.program), .usesFrontServer, arguments: [Style.async, .completionHandler, .sessionDelegate])
  func `a certificate that is not trusted is a failure of TLS`(style: Style) async throws {
    try await TrustedCertificate.prepare()
    let origin = try Origin { _ in [.response()] }
    let front = try await FrontServer.start(before: origin)
    // No exit test: this process does not trust it.
    let request = URLRequest(url: front.url(.tls, "/"))
    try await Self.expect(.tls, AppCall(kind: .data, style: style, request: request))
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

  /// Those to which it translates libcurl's results, and those of its own.
  @Test func `Foundation's codes have a class`() {
    let classes: KeyValuePairs<RequestErrorType, [URLError.Code]> = [
      .timeout: [.timedOut], .dns: [.cannotFindHost, .dnsLookupFailed],
      .connect: [.cannotConnectToHost, .notConnectedToInternet],
      .connectionLost: [.networkConnectionLost, .badServerResponse],
      .tls: [
        .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired,
      ],
      .tooManyRedirects: [.httpTooManyRedirects], .unsupportedURL: [.unsupportedURL, .badURL],
      .body: [
        .cannotDecodeRawData, .cannotDecodeContentData, .dataLengthExceedsMaximum,
        .requestBodyStreamExhausted,
        .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile, .cannotCreateFile, .cannotOpenFile,
        .cannotWriteToFile, .cannotCloseFile, .cannotMoveFile, .cannotRemoveFile,
      ],
      .other: [.unknown, .dataNotAllowed],
    ]
    for (type, codes) in classes {
      expectEqual(codes.filter { RequestErrorType(URLError($0)) != type }, [], "\(type)")
    }
    #expect(RequestErrorType(CocoaError(.fileNoSuchFile)) == .other)
    let notHTTP = [NSLocalizedDescriptionKey: "Received HTTP/0.9 when not allowed"]
    #expect(RequestErrorType(URLError(.unsupportedURL, userInfo: notHTTP)) == .invalidResponse)
  }

  @Test func `an error's message is libcurl's, or the time-out that ran out`() {
    let ofCurl = NSError(
      domain: NSURLErrorDomain, code: -1, userInfo: [NSLocalizedDescriptionKey: "Recv failure"])
    let outer = [NSLocalizedDescriptionKey: "outer"] as [String: Any]
    let both = URLError(.unknown, userInfo: outer.merging([NSUnderlyingErrorKey: ofCurl]) { $1 })
    #expect(both.curlMessage == "Recv failure" && RequestErrorType(both) == .connectionLost)
    #expect(URLError(.unknown, userInfo: outer).curlMessage == "outer")
    let timeout = (setting: "timeoutInterval", seconds: 2.0)
    #expect(
      URLError(.timedOut).timeoutMessage(timeout, hasHead: true) == "no data for 2.0 s: timeoutInterval")
    #expect(URLError(.badURL).timeoutMessage(timeout, hasHead: true) == nil)
  }

  /// The words of libcurl where a stream of HTTP/2 is cut (`on_stream_close` and `http2_handle_stream_close`
  /// in its `http2.c`, `curl_easy_strerror`), and of a chunk without a size before 8.6 and since
  /// (`httpchunk_readwrite` in its `http_chunks.c`).
  @Test func `libcurl's words have a class`() {
    let classes: KeyValuePairs<RequestErrorType, [String]> = [
      .tls: [
        "SSL connect error", "OpenSSL SSL_connect: Connection timed out in connection to a.test:443",
        "Peer certificate cannot be authenticated with given CA certificates",
        "GnuTLS, handshake failed: A TLS fatal alert has been received.",
        "OpenSSL SSL_read: Connection reset by peer, errno 104",
      ],
      .timeout: [
        "Timeout was reached", "Resolving timed out after 1000 milliseconds",
        "Failed to resolve host 'a.test' with timeout after 9 ms",
      ],
      .connectionLost: [
        "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)",
        "HTTP/2 stream 3 was not closed cleanly before end of the underlying stream",
        "HTTP/2 stream 1 was reset", "Stream error in the HTTP/2 framing layer",
        "Recv failure: Connection reset by peer", "Transferred a partial file",
        "transfer closed with 5 bytes remaining to read", "end of response with 5 bytes missing",
        "Failure when receiving data from the peer", "Recv failure: Network is down",
        "Send failure: Network is down", "Failed sending data to the peer", "Broken pipe",
        "outstanding read data remaining",
      ],
      .body: [
        "Illegal or missing hexadecimal sequence in chunked-encoding",
        "chunk hex-length char not a hex digit: 0x7a", "chunk hex-length longer than 16",
        "invalid chunk size: 'ffffffffffffffff'", "Unrecognized or bad HTTP Content or Transfer-Encoding",
        "read function returned funny value", "failed to decompress the content",
      ],
      .dns: [
        "Couldn't resolve host name", "Could not resolve proxy: a.test",
        "Could not resolve proxy: tls-proxy", "Could not resolve host: reset.certificate.test",
      ],
      .connect: [
        "Couldn't connect to server",
        "Failed to connect to a.test port 443 after 1 ms: Connection reset by peer",
        // A host's name decides nothing.
        "Failed to connect to ssl-gw.test port 80 after 3 ms: Couldn't connect to server",
        "Failed to connect to resolver.test port 80 after 3 ms: No route to host",
        "Failed to connect to timeouts.test port 80 after 3 ms: Network is unreachable",
        "Failed to connect to tls-proxy port 3128 after 3 ms: Network is unreachable",
        "Received HTTP code 407 from proxy after CONNECT", "CONNECT tunnel failed, response 502",
        "Proxy CONNECT aborted",
      ],
      .other: [
        "Unsupported proxy scheme for 'tls-proxy'", "",
      ],
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

  /// Makes the call without a tap and with one.
  static func expect(_ type: RequestErrorType, _ call: AppCall) async throws {
    func configuration() -> URLSessionConfiguration { .ephemeral(with: MockProtocol.self) }
    let (tap, observer) = URLSessionTap.observed()
    let stock = try await call.run(configuration())
    let tapped = try await call.run(tap.sessionConfiguration(from: configuration(), client: "test"))
    #expect(stock.error != nil)
    #expect(tapped == stock)
    try await observer.waitForEnds(1)
    let types = observer.ended.map { observation -> RequestErrorType? in
      if case .failure(let type, _) = observation.end { type } else { nil }
    }
    #expect(types == [type], "\(stock.error ?? "")")
    // Without a head nothing has come.
    let observation = try #require(observer.ended.first)
    if observation.statusCode == nil { #expect(observation.responseBodySize == nil) }
  }
}
