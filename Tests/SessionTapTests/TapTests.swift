import TapEndpoint
import TapPage
import TapTesting
import TestSupport

@testable import SessionTap
@testable import TapURLSession

@Suite struct TapTests {
  @Test func `what a tap cannot be made of, or start with, is an error that tells what to do`() throws {
    struct Row {
      var registry = Registry()
      let configuration: Tap.Configuration
      let code: TapError.Code
      let text: String
    }
    let (taken, app) = (Registry(), Registry())
    let first = try Tap(.test(), registry: taken)
    _ = try app.gauge("session_tap_unknown_connections_total", help: "The app's own.")
    let belongs =
      "the registry has the metrics of a tap already: make the next tap with a Registry() of its own"
    func misspelt(_ change: (inout Tap.Configuration) -> Void) -> Row {
      Row(configuration: .test(log: .memory, change), code: .configuration, text: "'/users/{id}/files/*'")
    }
    // An address in code is one, whatever the variables name.
    let elsewhere = Tap.Configuration.test(
      at: .tcp(host: "203.0.113.1", port: 0), environment: ["OTEL_EXPORTER_PROMETHEUS_PORT": "0"])
    let missing = Tap.Configuration.test(log: .file("/no/such/a.jsonl"))
    let rows = [
      Row(registry: taken, configuration: .test(), code: .metrics, text: belongs),
      Row(
        registry: app, configuration: .test(), code: .metrics, text: "session_tap_unknown_connections_total"),
      misspelt { $0.outbound.pathTemplates = ["/users/:id"] },
      misspelt { $0.inbound.pathTemplates = ["/users/<id>"] },
      misspelt { $0.logging.redaction.allowedPaths = ["users/{id"] },
      Row(configuration: elsewhere, code: .endpoint, text: "203.0.113.1"),
      Row(configuration: missing, code: .log, text: "make its directory"),
    ]
    for row in rows {
      let error = try #require(throws: TapError.self) {
        try Tap(row.configuration, registry: row.registry).start()
      }
      #expect(error.code == row.code && error.description.contains(row.text), "\(error)")
      // It has its text where Foundation asks for it.
      #expect(error.localizedDescription == "\(error)" && error.underlying != nil)
      if let cause = error.underlying as? RegistryError { #expect(cause.localizedDescription == "\(cause)") }
    }
    withExtendedLifetime(first) {}
  }

  // MARK: Requests

  @Test func `a request goes the whole way to a scrape and a log line`() async throws {
    let origin = try Origin { request in
      request.path == "/end"
        ? [.chunked("201 Created", body: Array("made".utf8), chunk: 2)] : [.redirect(to: "/end")]
    }
    let folder = try TemporaryFolder()
    let tap = try Tap.start(.test(log: .file(folder("requests.jsonl"))))
    try tap.registry.counter("jobs_total", help: "Jobs done.").increment()
    // The app's configuration, delegate and queue.
    let (delegate, queue) = (CompletionDelegate(), OperationQueue())
    let session = tap.session(
      client: "payments", configuration: with(.ephemeral) { $0.httpMaximumConnectionsPerHost = 3 },
      delegate: delegate, delegateQueue: queue)
    #expect(session.configuration.httpMaximumConnectionsPerHost == 3)
    #expect(session.delegate === delegate && session.delegateQueue === queue)
    let done = Gate()
    try RequestSender().start(
      URLRequest(url: origin.url("/v1/charges?card=4242")), .data, .delegate, in: session
    ) { done.open() }
    try await done.wait("the completion")

    let target = #"client="payments",http_request_method="GET""#
    let server = #"server_address="127.0.0.1",server_port="\#(origin.port)""#
    let labels = target + #",http_response_status_code="201",network_protocol_version="1.1","# + server
    let build = #"connection_info="kernel",transfer_info="libcurl",version="\#(BuildInfo.version)""#
    let shown = Set(try await tap.get("/metrics").split(separator: "\n").map(String.init))
    let expected: Set = [
      "http_client_request_duration_seconds_count{\(labels)} 1",
      "http_client_response_body_size_bytes_sum{\(labels)} 4",
      "http_client_time_to_first_byte_seconds_count{\(labels)} 1",
      "http_client_redirects_total{\(target),\(server)} 1", "jobs_total 1",
      "session_tap_build_info{\(build)} 1",
    ]
    #expect(expected.subtracting(shown) == [])
    await tap.shutdown()
    #expect(tap.address == nil)
    let line = try jsonObject(folder.text("requests.jsonl")).row(
      "client.name", "http.response.status_code", "url.full")
    #expect(line == "payments 201 http://127.0.0.1:\(origin.port)/v1/charges?card=REDACTED")
  }

  @Test func `headers are in the log if they are allowed, also of a session that exists`() async throws {
    let origin = try Origin { _ in
      [.response("200 OK", headers: [("X-Served-By", "a7"), ("Set-Cookie", "secret=1")], body: [])]
    }
    let tap = try Tap.start(
      .test {
        $0.servesLog = true
        $0.logging.redaction.allowedRequestHeaders = ["accept"]
        $0.logging.redaction.allowedResponseHeaders = ["x-served-by"]
      })
    let session = URLSession(configuration: .ephemeral)
    #expect(tap.install(on: session, client: "payments"))
    let request = with(URLRequest(url: origin.url("/"))) {
      $0.setValue("text/plain", forHTTPHeaderField: "Accept")
      $0.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
    }
    _ = try await session.data(for: request)
    await tap.shutdown()
    #expect(tap.logText.contains(#""http.request.header.accept":["text/plain"]"#))
    #expect(tap.logText.contains(#""http.response.header.x-served-by":["a7"]"#))
    #expect(!tap.logText.contains("secret"))
    // Where none is allowed none is collected.
    func collects(_ change: (inout Tap.Configuration) -> Void) -> Bool {
      Tap.Configuration.test(change).makeSessions(log: tap.requestLog).collectsHeaders
    }
    let isCollected = [
      collects { _ in }, collects { $0.logging.redaction.allowedRequestHeaders = ["a"] },
      collects { $0.logging.redaction.allowedResponseHeaders = ["a"] },
    ]
    #expect(isCollected == [false, true, true])
  }

  @Test func `headers of any client and server are in the log if they are allowed`() async throws {
    let tap = try Tap.testing {
      $0.logging.redaction.allowedRequestHeaders = ["Accept"]
      $0.logging.redaction.allowedResponseHeaders = ["X-Served-By"]
    }
    let headers = ["accept": "text/plain", "x-served-by": "a7", "authorization": "secret"]
    await tap.outbound.withRequest(client: "c", method: "GET", url: "http://h/", headers: { headers[$0] }) {
      $0.end(statusCode: 200, responseHeaders: { headers[$0] })
    }
    await tap.inbound.withRequest(method: "GET", path: "/", headers: { headers[$0] }) {
      $0.fail(statusCode: 200, responseHeaders: { headers[$0] })
    }
    await tap.shutdown()
    #expect(tap.logText.ranges(of: #""http.request.header.accept":["text/plain"]"#).count == 2)
    #expect(tap.logText.ranges(of: #""http.response.header.x-served-by":["a7"]"#).count == 2)
    #expect(!tap.logText.contains("secret"))
  }

  @Test func `each direction has its own configuration`() throws {
    let tap = try Tap.testing {
      $0.outbound.pathTemplates = ["/made/{id}"]
      $0.inbound.pathTemplates = ["/served/{id}"]
    }
    for path in ["/made/1", "/served/1"] {
      tap.outbound.begin(client: "c", method: "GET", url: "http://a\(path)").end(statusCode: 200)
      tap.inbound.begin(method: "GET", path: path).end(statusCode: 200)
    }
    let templates = tap.recordedRequests().map(\.request.urlTemplate)
    #expect(templates == ["/made/{id}", nil, nil, "/served/{id}"])
  }

  // MARK: What it makes its parts of

  @Test func `what the tap could not read is counted from the start`() throws {
    let tap = try Tap(.test())
    let unknown = "session_tap_unknown_connections_total"
    for witness in ["libcurl", "kernel"] {
      #expect(tap.registry.value(ofSeries: "session_tap_contradictions_total{witness=\"\(witness)\"}") != nil)
    }
    #expect(tap.registry.value(ofSeries: unknown) == 0)
    // The sessions count in it.
    try #require(tap.sessions.configuration.unknownConnections).increment()
    #expect(tap.registry.value(ofSeries: unknown) == 1)
  }

  @Test func `where nothing tells of transfers, or one does no more, a metric and the log say so`() throws {
    let tap = try Tap(.test { ($0.sessions.curl, $0.servesLog) = (nil, true) })
    let labels = #"connection_info="none",transfer_info="none",version="\#(BuildInfo.version)""#
    #expect(tap.registry.value(ofSeries: "session_tap_build_info{\(labels)}") == 1)
    let log = try #require(tap.requestLog)
    let report = try #require(tap.configuration.makeSessions(log: log).reportDisbelief)
    report("why")
    #expect(log.flush())
    let message =
      "libcurl tells nothing of transfers on this toolchain: sizes come from headers, phases are unknown"
    #expect(try tap.logLines.map { $0.row("severity", "message") } == ["WARN \(message)", "WARN why"])
  }

  @Test func `no line is kept that nobody asked for`() throws {
    let log = try #require(Tap(.test(log: .memory)).requestLog)
    log.log(.info, "hello")
    #expect(log.flush(within: .seconds(100)))
    #expect(log.statistics.lines == 1 && log.recent().isEmpty)
  }

  /// What may take milliseconds, or wait for a lock or a queue.
  @Test func `no answer of a tap's own is made on the queue of all connections, and the article has each`()
    throws
  {
    let tap = try Tap(.test { $0.servesLog = true })
    let log = try #require(tap.requestLog)
    let lines: [EndpointRoute] = [.logs(of: log), .requests(of: tap.recorder, as: log)]
    let routes = EndpointRoute.page(of: tap.recorder) + lines
    let others = routes.filter { if case .deferred = $0.handler { false } else { true } }
    // A few sentences, of what is asked alone.
    #expect(others.map(\.path) == ["/page/verdict"])
    let paths = try #require(tap.endpoint?.paths)
    let rows = try Repository.article("MetricsAndLimits").split(separator: "\n").filter {
      $0.hasPrefix("| `/")
    }
    let missing = paths.filter { path in !rows.contains { $0.contains("`\(path)`") } }
    #expect(missing == [] && paths.count == 11)
  }

  @Test func `the process is measured unless the app does that, and a history is kept for a page alone`()
    throws
  {
    for isWanted in [true, false] {
      let tap = try Tap(
        .test {
          $0.exposesProcess = isWanted
          if !isWanted { $0.endpoint = nil }
        })
      #expect(tap.registry.text.contains("\nprocess_resident_memory_bytes ") == isWanted)
      #expect((tap.recorder.history(of: .outbound) != nil) == isWanted)
    }
  }
}
