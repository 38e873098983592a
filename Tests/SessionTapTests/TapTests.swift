import TestSupport

@testable import SessionTap

@Suite struct TapTests {
  @Test func `a registry that belongs to a tap is an error that tells what to do`() throws {
    let (configuration, registry) = (Tap.Configuration.test(), Registry())
    let tap = try Tap(configuration, registry: registry)
    let error = #expect(throws: TapError.self) { try Tap(configuration, registry: registry) }
    #expect(error?.code == .metrics)
    #expect(error?.underlying is RegistryError)
    let problem =
      "the registry has the metrics of a tap already: make the next tap with a Registry() of its own"
    #expect(error?.description == problem)
    withExtendedLifetime(tap) {}
  }

  @Test func `an app's scrape of itself is no request of it`() async throws {
    let tap = try Tap.start(.test())
    let session = tap.session(client: "itself", configuration: .ephemeral)
    let address = try #require(tap.address)
    let url = try #require(URL(string: "http://\(address)/metrics"))
    let (body, _) = try await session.data(from: url)
    #expect(!body.isEmpty)
    tap.recorder.drain()
    #expect(!tap.registry.text.contains("itself"))
    session.invalidateAndCancel()
    await tap.shutdown()
  }

  @Test func `several taps are made of one configuration`() throws {
    let configuration = Tap.Configuration.test()
    let taps = try [Tap(configuration), Tap(configuration)]
    #expect(taps[0].registry !== taps[1].registry)
  }

  @Test func `a process that exits without a shutdown has the line of its last request`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let closed = try ClosedPort()
    try ExitValues.give("TapTests", path, closed.port)
    await #expect(processExitsWith: .exitCode(7)) {
      let (path, port) = try ExitValues.take("TapTests", String.self, Int.self)
      let tap = try Tap(.test(log: .file(path)))
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "last"))
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      _ = try? await session.data(from: url)
      exit(7)
    }
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 1)
    #expect(lines.first?.contains(#""client.name":"last""#) == true)
  }

  @Test func `a request goes the whole way to a scrape and a log line`() async throws {
    let origin = try Origin { request in
      request.path == "/end"
        ? [.chunked("201 Created", body: Array("made".utf8), chunk: 2)] : [.redirect(to: "/end")]
    }
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let tap = try Tap.start(.test(log: .file(path)))
    try tap.registry.counter("jobs_total", help: "Jobs done.").increment()
    let session = tap.session(
      client: "payments", configuration: .ephemeral, delegate: CompletionDelegate(), delegateQueue: nil)
    let done = Gate()
    try RequestSender().start(
      URLRequest(url: origin.url("/v1/charges?card=4242")), .data, .delegate, in: session
    ) { done.open() }
    try await done.wait("the completion")

    let target = #"client="payments",http_request_method="GET""#
    let server = #"server_address="127.0.0.1",server_port="\#(origin.port)""#
    let labels = target + #",http_response_status_code="201",network_protocol_version="1.1","# + server
    let text = try await tap.get("/metrics")
    #expect(text.contains("http_client_request_duration_seconds_count{\(labels)} 1"))
    #expect(text.contains("http_client_response_body_size_bytes_sum{\(labels)} 4"))
    #expect(text.contains("http_client_time_to_first_byte_seconds_count{\(labels)} 1"))
    #expect(text.contains("http_client_redirects_total{\(target),\(server)} 1"))
    #expect(text.contains("\njobs_total 1\n"))
    let build = #"connection_info="kernel",transfer_info="libcurl",version="\#(BuildInfo.version)""#
    #expect(text.contains("session_tap_build_info{\(build)} 1"))

    await tap.shutdown()
    let lines = try folder.lines("requests.jsonl")
    #expect(lines.count == 1)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(lines.joined().utf8)) as? [String: Any])
    #expect(object["url.full"] as? String == "http://127.0.0.1:\(origin.port)/v1/charges?card=REDACTED")
    #expect(object["client.name"] as? String == "payments")
    #expect(object["http.response.status_code"] as? Int == 201)
    #expect(tap.address == nil)
  }

  @Test(arguments: [(true, true), (true, false), (false, true)])
  func `headers are in the log if they are allowed, also of a session that exists`(
    isRequest: Bool, isResponse: Bool
  ) async throws {
    let origin = try Origin { _ in
      [.response("200 OK", headers: [("X-Served-By", "a7"), ("Set-Cookie", "secret=1")], body: [])]
    }
    var configuration = Tap.Configuration.test(log: .memory)
    configuration.servesLog = true
    if isRequest { configuration.logging.redaction.allowedRequestHeaders = ["accept"] }
    if isResponse { configuration.logging.redaction.allowedResponseHeaders = ["x-served-by"] }
    let tap = try Tap.start(configuration)
    let session = URLSession(configuration: .ephemeral)
    #expect(tap.install(on: session, client: "payments"))
    var request = URLRequest(url: origin.url("/"))
    request.setValue("text/plain", forHTTPHeaderField: "Accept")
    request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
    _ = try await session.data(for: request)
    tap.uninstall(from: session)
    _ = try await session.data(for: request)
    await tap.shutdown()
    let lines = try #require(tap.requestLog).recentText
    #expect(lines.split(separator: "\n").count == 1)
    #expect(lines.contains(#""http.request.header.accept":["text/plain"]"#) == isRequest)
    #expect(lines.contains(#""http.response.header.x-served-by":["a7"]"#) == isResponse)
    #expect(!lines.contains("secret"))
  }

  @Test func `headers of any client and server are in the log if they are allowed`() async throws {
    var configuration = Tap.Configuration.test(log: .memory)
    configuration.servesLog = true
    configuration.endpoint = nil
    configuration.logging.redaction.allowedRequestHeaders = ["Accept", "X-Missing"]
    configuration.logging.redaction.allowedResponseHeaders = ["X-Served-By"]
    configuration.logging.redaction.custom = { $1 == "a7" ? "a*" : $1 }
    let tap = try Tap.start(configuration)
    let (sent, answered) = (
      ["accept": "text/plain", "authorization": "secret"], ["x-served-by": "a7", "set-cookie": "secret"]
    )
    let url = "http://h/"
    await tap.outbound.withRequest(client: "c", method: "GET", url: url, headers: { sent[$0] }) {
      $0.end(statusCode: 200, responseHeaders: { answered[$0] })
    }
    await tap.inbound.withRequest(method: "GET", path: "/", headers: { sent[$0] }) {
      $0.fail(statusCode: 200, responseHeaders: { answered[$0] })
    }
    await tap.shutdown()
    let lines = try #require(tap.requestLog).recentText
    #expect(lines.ranges(of: #""http.request.header.accept":["text/plain"]"#).count == 2)
    #expect(lines.ranges(of: #""http.response.header.x-served-by":["a*"]"#).count == 2)
    #expect(!lines.contains("secret"))
    #expect(!lines.contains("missing"))
  }

  @Test func `the article has each route of a tap`() throws {
    let paths = try #require(Tap(.test { $0.servesLog = true }).endpoint?.paths)
    #expect(paths.count == 9)
    let rows = try Repository.article("MetricsAndLimits").split(separator: "\n").filter {
      $0.hasPrefix("| `/")
    }
    #expect(paths.filter { path in !rows.contains { $0.contains("`\(path)`") } } == [])
  }

  @Test func `the process is measured, unless the app does that itself`() async throws {
    for isWanted in [true, false] {
      let tap = try Tap.start(.test { $0.exposesProcess = isWanted })
      #expect(try await tap.get("/metrics").contains("\nprocess_resident_memory_bytes ") == isWanted)
      await tap.shutdown()
    }
  }

  @Test func `a misspelt template of paths is an error that shows a right one`() throws {
    let requests = Tap.Configuration.test { $0.outbound.pathTemplates = ["/users/:id"] }
    let inbound = Tap.Configuration.test { $0.inbound.pathTemplates = ["/users/<id>"] }
    let log = Tap.Configuration.test(log: .memory) { $0.logging.redaction.allowedPaths = ["users/{id"] }
    for var configuration in [requests, inbound, log] {
      let error = #expect(throws: TapError.self) { try Tap(configuration) }
      #expect(error?.code == .configuration)
      #expect(error?.underlying is PathTemplateError)
      #expect(error?.description.contains("'/users/{id}/files/*'") == true)
      // The mistake mended, the same configuration serves.
      configuration.outbound.pathTemplates = ["/users/{id}"]
      configuration.inbound.pathTemplates = ["/users/{id}"]
      configuration.logging.redaction.allowedPaths = nil
      _ = try Tap(configuration)
    }
  }
}
