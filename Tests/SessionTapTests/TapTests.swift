import Foundation
import SessionTap
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The facade: start, observe, serve, end.
@Suite struct TapTests {
  static func configuration(log: RequestLog.Destination? = nil) -> Tap.Configuration {
    var configuration = Tap.Configuration()
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.log = log
    configuration.isQuiet = true
    return configuration
  }

  static func scrape(_ tap: Tap) async throws -> String {
    let address = try #require(tap.address)
    let url = try #require(URL(string: "http://\(address)/metrics"))
    let (data, _) = try await URLSession(configuration: .ephemeral).data(from: url)
    return String(decoding: data, as: UTF8.self)
  }

  @Test func `a registry that belongs to a tap is an error that tells what to do`() throws {
    let (configuration, registry) = (Self.configuration(), Registry())
    let tap = try Tap(configuration, registry: registry)
    let error = #expect(throws: TapError.self) { try Tap(configuration, registry: registry) }
    #expect(error?.code == .metrics)
    #expect(error?.description.contains("Registry()") == true)
    withExtendedLifetime(tap) {}
  }

  @Test func `several taps are made of one configuration`() throws {
    let configuration = Self.configuration()
    let taps = try [Tap(configuration), Tap(configuration)]
    #expect(taps[0].registry !== taps[1].registry)
  }

  @Test func `a process that exits without a shutdown has the line of its last request`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let closed = try ClosedPort()
    await #expect(processExitsWith: .exitCode(7)) { [path = path as String, port = closed.port as Int] in
      let tap = try Tap(Self.configuration(log: .file(path)))
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "last"))
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      _ = try? await session.data(from: url)
      exit(7)
    }
    withExtendedLifetime(closed) {}
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 1)
    #expect(lines.first?.contains(#""client":"last""#) == true)
  }

  @Test func `a request goes the whole way to a scrape and a log line`() async throws {
    let origin = try Origin { _ in [.response("201 Created", body: Array("made".utf8))] }
    defer { origin.stop() }
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let tap = try Tap.start(Self.configuration(log: .file(path)))
    let jobs = try tap.registry.counter("jobs_total", help: "Jobs done.")
    jobs.increment()
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "payments"))
    _ = try await session.data(from: origin.url("/v1/charges?card=4242"))

    let labels =
      #"client="payments",http_request_method="GET",http_response_status_code="201","#
      + #"network_protocol_version="1.1",server_address="127.0.0.1",server_port="\#(origin.port)""#
    let text = try await Self.scrape(tap)
    #expect(text.contains("http_client_request_duration_seconds_count{\(labels)} 1"))
    #expect(text.contains("http_client_response_body_size_bytes_sum{\(labels)} 4"))
    #expect(text.contains("\njobs_total 1\n") || text.contains("\njobs_total 1.0\n"))
    let build = #"connection_info="kernel",transfer_info="libcurl",version="\#(BuildInfo.version)""#
    #expect(text.contains("session_tap_build_info{\(build)} 1"))

    await tap.shutdown()
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 1)
    let line = try #require(lines.first)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["url.full"] as? String == "http://127.0.0.1:\(origin.port)/v1/charges?card=REDACTED")
    #expect(object["client"] as? String == "payments")
    #expect(object["http.response.status_code"] as? Int == 201)
    #expect(tap.address == nil)
  }

  @Test func `redirects, sizes and the first byte are known of a session with a delegate`() async throws {
    let origin = try Origin { request in
      request.path == "/end"
        ? [.chunked(body: [1, 2, 3], chunk: 2)] : [.response("302 Found", headers: [("Location", "/end")])]
    }
    defer { origin.stop() }
    let tap = try Tap.start(Self.configuration())
    let delegate = RandomRunDelegate()
    let session = URLSession(
      configuration: tap.sessionConfiguration(from: .ephemeral, client: "whole"), delegate: delegate,
      delegateQueue: nil)
    let task = session.dataTask(with: origin.url("/start"))
    let done = Gate()
    delegate.whenComplete(task) { done.open() }
    task.resume()
    try await done.wait("the completion")
    let text = try await Self.scrape(tap)
    await tap.shutdown()
    let target = #"client="whole",http_request_method="GET""#
    let server = #"server_address="127.0.0.1",server_port="\#(origin.port)""#
    let labels = target + #",http_response_status_code="200",network_protocol_version="1.1","# + server
    #expect(text.contains("http_client_redirects_total{\(target),\(server)} 1"))
    #expect(text.contains("http_client_time_to_first_byte_seconds_count{\(labels)} 1"))
    #expect(text.contains("http_client_response_body_size_bytes_sum{\(labels)} 3"))
  }

  @Test func `headers are in the log if they are allowed, also of a session that exists`() async throws {
    let origin = try Origin { _ in
      [.response("200 OK", headers: [("X-Served-By", "a7"), ("Set-Cookie", "secret=1")], body: [])]
    }
    defer { origin.stop() }
    var configuration = Self.configuration(log: .memory)
    configuration.servesLog = true
    configuration.logOptions.redaction.allowedRequestHeaders = ["accept"]
    configuration.logOptions.redaction.allowedResponseHeaders = ["x-served-by"]
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
    let lines = String(decoding: try #require(tap.requestLog).recent(), as: UTF8.self)
    #expect(lines.split(separator: "\n").count == 1)
    #expect(lines.contains(#""http.request.header.accept":["text/plain"]"#))
    #expect(lines.contains(#""http.response.header.x-served-by":["a7"]"#))
    #expect(!lines.contains("secret"))
  }

  @Test func `headers of any client and server are in the log if they are allowed`() async throws {
    var configuration = Self.configuration(log: .memory)
    configuration.servesLog = true
    configuration.endpoint = nil
    configuration.logOptions.redaction.allowedRequestHeaders = ["Accept", "X-Missing"]
    configuration.logOptions.redaction.allowedResponseHeaders = ["X-Served-By"]
    configuration.logOptions.redaction.custom = { $1 == "a7" ? "a*" : $1 }
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
    let lines = String(decoding: try #require(tap.requestLog).recent(), as: UTF8.self)
    #expect(lines.ranges(of: #""http.request.header.accept":["text/plain"]"#).count == 2)
    #expect(lines.ranges(of: #""http.response.header.x-served-by":["a*"]"#).count == 2)
    #expect(!lines.contains("secret"))
    #expect(!lines.contains("missing"))
  }

  @Test func `the process is measured, unless the app does that itself`() async throws {
    for isWanted in [true, false] {
      var configuration = Self.configuration()
      configuration.exposesProcess = isWanted
      let tap = try Tap.start(configuration)
      #expect(try await Self.scrape(tap).contains("\nprocess_resident_memory_bytes ") == isWanted)
      await tap.shutdown()
    }
  }

  @Test func `a job pushes what a scrape would have shown`() async throws {
    let pushed = Mutex<[EndpointRequest]>([])
    let gateway = Endpoint(
      configuration: Endpoint.Configuration(address: .loopback(port: 0)),
      routes: [
        EndpointRoute("/metrics/*", methods: [.put]) { request in
          pushed.withLock { $0.append(request) }
          return .text("")
        }
      ])
    let address = try gateway.start()
    var configuration = Self.configuration()
    configuration.endpoint = nil
    let tap = try Tap(configuration)
    try tap.registry.counter("jobs_total", help: "Jobs done.").increment()
    try await tap.push(to: PushGateway("http://\(address)", job: "backup"))
    await gateway.shutdown()
    let texts = pushed.withLock { $0 }.map { "\($0.path)\n" + String(decoding: $0.body, as: UTF8.self) }
    #expect(texts.count == 1)
    #expect(texts.first?.hasPrefix("/metrics/job/backup\n") == true)
    #expect(texts.first?.contains("\njobs_total 1\n") == true)

    let closed = try ClosedPort()
    let error = await #expect(throws: TapError.self) {
      try await tap.push(
        to: PushGateway("http://127.0.0.1:\(closed.port)", job: "backup"), retry: Self.oneTry)
    }
    #expect(error?.code == .push)
    await tap.shutdown()
  }

  private static var oneTry: PushRetry {
    var retry = PushRetry()
    retry.attempts = 1
    return retry
  }

  @Test func `an address in use is an error that names it`() async throws {
    let first = try Tap.start(Self.configuration())
    let port = try #require(first.address?.port)
    var configuration = Tap.Configuration()
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: port))
    configuration.whenAddressInUse = .fail
    let error = #expect(throws: TapError.self) { try Tap.start(configuration) }
    #expect(error?.code == .endpoint)
    #expect(error?.description.hasPrefix("address in use: 127.0.0.1:\(port)") == true)
    await first.shutdown()
  }

  @Test func `a log that cannot be opened is an error that names it`() {
    let error = #expect(throws: TapError.self) {
      try Tap(Self.configuration(log: .file("/no/such/folder/requests.jsonl")))
    }
    #expect(error?.code == .log)
    #expect(error?.description.contains("/no/such/folder/requests.jsonl") == true)
  }

  @Test func `a misspelt template of paths is an error that shows the right spelling`() throws {
    var requests = Self.configuration()
    requests.outbound.pathTemplates = ["/users/:id"]
    var inbound = Self.configuration()
    inbound.inbound.pathTemplates = ["/users/<id>"]
    var log = Self.configuration(log: .memory)
    log.logOptions.redaction.allowedPaths = ["users/{id"]
    for var configuration in [requests, inbound, log] {
      let error = #expect(throws: TapError.self) { try Tap(configuration) }
      #expect(error?.code == .configuration)
      #expect(error?.underlying is PathTemplateError)
      #expect(error?.description.contains("write '/users/{id}'") == true)
      // The mistake mended, the same configuration serves.
      configuration.outbound.pathTemplates = ["/users/{id}"]
      configuration.inbound.pathTemplates = ["/users/{id}"]
      configuration.logOptions.redaction.allowedPaths = nil
      _ = try Tap(configuration)
    }
  }

  @Test func `a tap starts once`() async throws {
    let tap = try Tap.start(Self.configuration())
    #expect(throws: TapError.self) { try tap.start() }
    #expect(tap.address != nil)
    await tap.shutdown()
    await tap.shutdown()
    #expect(throws: TapError.self) { try tap.start() }
  }

  @Test func `run serves until its task is cancelled`() async throws {
    let tap = try Tap(Self.configuration())
    let service = Task { try await tap.run() }
    _ = try await Poll.until("an address") { tap.address }
    #expect(try await Self.scrape(tap).contains("session_tap_build_info"))
    service.cancel()
    try await service.value
    #expect(tap.address == nil)
  }

  @Test func `scrapes by the app itself are not recorded`() async throws {
    let tap = try Tap.start(Self.configuration())
    let address = try #require(tap.address)
    let url = try #require(URL(string: "http://\(address)/healthz"))
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "self"))
    let (data, _) = try await session.data(from: url)
    #expect(String(decoding: data, as: UTF8.self) == "ok\n")
    #expect(!tap.registry.exposition().text.contains(#"client="self""#))
    await tap.shutdown()
  }
}
