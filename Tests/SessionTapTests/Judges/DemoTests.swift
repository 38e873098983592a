import SessionTap
import TestSupport

/// The demo and the other commands as a person runs them.
@Suite(.needs(.program)) struct DemoTests {
  /// A demo that serves its metrics.
  private static func demo(_ options: [String]) async throws -> (process: ChildProcess, port: Int) {
    let process = try ChildProcess(product: "session-tap", ["demo", "--port", "0"] + options)
    try await process.waitForOutput("origin   http://")
    let port = process.output.firstMatch(of: /metrics  http:.*:(\d+)\//).flatMap { Int($0.1) }
    return (process, try #require(port))
  }

  /// What a command says that ends by itself.
  private static func end(
    _ words: [String], environment: [String: String] = [:]
  ) async throws -> (status: Int32, output: String) {
    let process = try ChildProcess(product: "session-tap", words, environment: environment)
    try await process.waitForEnd()
    return (process.status, process.output)
  }

  private static func sum(_ metric: String, in text: String) -> Int {
    Int(ExpositionText.sum(of: metric, in: text))
  }

  @Test func `its metrics and its log agree`() async throws {
    let folder = try TemporaryFolder()
    let (process, port) = try await Self.demo([
      "--log", folder("requests.jsonl"), "--rate", "50", "--requests", "60",
    ])
    try await Poll.until("60 ended requests") {
      let text = try await RawClient.get("/metrics", port: port)
      return Self.sum("session_tap_ended_requests_total", in: text) == 60
        && Self.sum("http_server_active_requests", in: text) == 0
    }
    let text = try await RawClient.get("/metrics", port: port)
    try await process.terminate()
    let all = try jsonObjects(folder.text("requests.jsonl"))
    func traces(_ event: String) -> [String] {
      all.filter { $0.row("event") == event }.map { $0.row("trace_id") }
    }
    let (made, heard) = (traces("http.client.request"), traces("http.server.request"))
    let served = heard.count
    #expect(process.status == 0 && process.output.contains("  60 requests  0 active  "))
    #expect(process.output.contains("  \(served) served\n"))
    // A served request and those made for it share a trace.
    #expect(Set(heard).count == served && Set(made) == Set(heard))
    #expect(made.count == 60 && served > 0 && served + 60 == all.count)
    let sums = [
      "http_server_request_duration_seconds_count": served,
      "session_tap_inbound_ended_requests_total": served,
      "http_server_active_requests": 0, "http_client_request_duration_seconds_count": 60,
      "session_tap_started_requests_total": 60, "http_client_active_requests": 0,
    ]
    #expect(sums.filter { Self.sum($0.key, in: text) != $0.value } == [:])
  }

  @Test func `its traffic has waits for a connection, slow bodies and new connections`() async throws {
    let (process, port) = try await Self.demo(["--log", "off", "--rate", "100"])
    let phases = "http_client_request_phase_duration_seconds_count"
    try await Poll.until("phases of each kind, and a cancel") {
      let text = try await RawClient.get("/metrics", port: port)
      let lines = text.split(separator: "\n")
      let has = { (parts: String...) in lines.contains { line in parts.allSatisfy(line.contains) } }
      return has(phases, #"client="reports""#, #"phase="queue""#)
        && has(phases, #"client="reports""#, #"phase="transfer""#)
        && has(phases, #"client="warehouse""#, #"phase="processing""#)
        && has(phases, #"client="tokens""#, #"phase="resolve""#)
        && Self.sum("session_tap_cancelled_requests_total", in: text) > 0
    }
    try await process.terminate()
  }

  /// One of its requests is active then, and the server never answers it.
  @Test func `a probe ends cleanly on a signal`() async throws {
    let (asked, end) = (Gate(), Gate())
    let origin = try Origin { _ in
      asked.open()
      return [.hold(end)]
    }
    defer { end.open() }
    let process = try ChildProcess(
      product: "session-tap",
      ["probe", origin.url().absoluteString, "--port", "0", "--log", "off", "--timeout", "1h"])
    try await asked.wait("the request")
    try await process.terminate()
    #expect(process.status == 0)
    try await process.waitForOutput("1 cancelled")
  }

  /// The library of git on Debian and others: its functions know nothing of the handles of Foundation's, and
  /// come first in the process.
  private static let otherCurl = "libcurl-gnutls.so.4"

  @Test(.enabled(if: Tool.isRequired || dlopen(otherCurl, RTLD_LAZY) != nil, "\(otherCurl) is missing"))
  func `beside another libcurl, the one that Foundation uses is asked`() async throws {
    let folder = try TemporaryFolder()
    let origin = try Origin { _ in [.think(30), .response(body: [1, 2, 3])] }
    let words = ["probe", origin.url().absoluteString, "--count", "5", "--every", "1ms", "--port", "0"]
    let (status, output) = try await Self.end(
      words + ["--log", folder("requests.jsonl")], environment: ["LD_PRELOAD": Self.otherCurl])
    #expect(status == 0 && !output.contains("cannot be preloaded"), "\(output)")
    let lines = try folder.lines("requests.jsonl")
    #expect(lines.count == 5)
    for (number, line) in lines.enumerated() {
      let object = try jsonObject(line)
      // A process that is late to note that it has sent the request takes a part of the server's time.
      let server = try #require(object["processing_s"] as? Double, "\(line)")
      #expect(server + (object["local_s"] as? Double ?? 0) >= 0.025, "\(line)")
      #expect((object["connect_s"] != nil) == (number == 0), "\(line)")
      #expect(object["network.peer.address"] as? String == "127.0.0.1", "\(line)")
      #expect(object["http.response.body.size"] as? Int == 3, "\(line)")
    }
  }

  /// Also where a variable names the same port, or none that could be used: the option says where to listen.
  @Test func `what cannot be done is an exit code and one line`() async throws {
    let taken = try Origin { _ in [] }
    let (variable, inUse) = ("OTEL_EXPORTER_PROMETHEUS_PORT", "address in use: 127.0.0.1:\(taken.port)")
    let demo = "demo --log off --port \(taken.port)"
    let problems: [(words: String, environment: [String: String], status: Int32, text: String)] = [
      (demo, [:], 69, inUse), (demo, [variable: "\(taken.port)"], 69, inUse),
      (demo, [variable: "no port"], 69, inUse),
      ("demo --port 0 --log /dev/null/requests.jsonl", [:], 73, "/dev/null/requests.jsonl"),
      // Behind `--` there are no options.
      ("probe -- --every", [:], 64, "not '--every'"), ("fly", [:], 64, "see 'session-tap help'"),
    ]
    let misused = [
      "demo --port x", "demo --rate 0", "demo --duration long", "demo --faults some", "demo extra",
      "demo --unknown", "demo --log=", "probe", "probe ftp://host/", "probe http://host/ --every ",
      "probe -- --every", "why ftp://host/", "why http://a/ http://b/", "why --port 0", "why --log -",
    ]
    let rows =
      problems + misused.map { ($0, [:], 64, "see 'session-tap help \($0.split(separator: " ")[0])'") }
    for row in rows {
      let words = row.words.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      let (status, output) = try await Self.end(words, environment: row.environment)
      #expect(status == row.status && output.contains(row.text), "\(row.words): \(output)")
      #expect(output.split(separator: "\n").count == 1, "\(row.words): \(output)")
    }
  }

  @Test func `each command has a help text, and the program a version`() async throws {
    for (command, own, other) in [
      ("demo", "--rate", "--every"), ("probe", "--every", "--rate"), ("why", "--json", "--every"),
    ] {
      let (status, output) = try await Self.end([command, "--help"])
      let has = [own, "--port", "Exit codes", other].map { output.contains($0) }
      #expect(status == 0 && has == [true, true, true, false], "\(output)")
      #expect(try await Self.end(["help", command]).output == output)
    }
    #expect(try await Self.end(["--version"]) == (0, "session-tap \(BuildInfo.version)\n"))
    #expect(try await Self.end(["help", "fly"]).status == 64)
  }

  /// The exit code says whether any request came to something, as `curl --fail` does.
  @Test func `a probe fails if no request succeeds, and leaves no file behind`() async throws {
    let folder = try TemporaryFolder()
    for (status, code) in [("200 OK", 0), ("404 Not Found", 1), ("503 No", 1), (nil, 1)] as [(String?, Int32)]
    {
      let origin = try Origin { _ in status.map { [.response($0)] } ?? [.close] }
      let process = try ChildProcess(
        product: "session-tap",
        ["probe", origin.url().absoluteString, "--count", "2", "--every", "1ms", "--port", "0"],
        folder: folder.path)
      try await process.waitForEnd()
      #expect(process.status == code, "\(process.output)")
      let times = try Regex(
        "  mean [0-9.]+ ms  max [0-9.]+ ms  last \(status?.prefix(3) ?? "connection_lost")  ")
      #expect(process.output.contains(times), "\(process.output)")
      #expect(try folder.names == [])
    }
  }

  @Test func `why says what the endpoint of an app does, and its exit code too`() async throws {
    let tap = try Tap.start(.test())
    let port = try #require(tap.address?.port)
    let environment = ["OTEL_EXPORTER_PROMETHEUS_PORT": "\(port)"]
    let well = try await Self.end(["why", "http://127.0.0.1:\(port)/?seconds=60"])
    #expect(well.status == 0 && well.output.hasPrefix("All is well: no request ended in the last "))
    for _ in 0..<3 { tap.outbound.begin(client: "a", method: "GET", url: "http://b/").end(statusCode: 500) }
    let (status, output) = try await Self.end(["why"], environment: environment)
    #expect(status == 1 && output.hasPrefix("3 of 3 requests of `a` to GET b failed since "), "\(output)")
    let json = try await Self.end(["why", "--json", "--port", "\(port)"])
    #expect(json.status == 1 && json.output.hasPrefix(#"{"is_well":false,"#), "\(json.output)")
    await tap.shutdown()
    let none = try await Self.end(["why", "--port", "\(port)"])
    #expect(
      none.status == 69 && none.output.contains("/why does not answer") && none.output.contains("metrics at"),
      "\(none.output)")
  }

  @Test func `why trusts no other server, and shows no password`() async throws {
    let answers = [
      #"{"is_well":true,"sentence":"a\u001b[2Jb","findings":[]}"#: (0 as Int32, "a [2Jb\n"),
      #"{"is_well":false,"sentence":"","findings":[{"sentence":"n\u202Eote","is_wrong":false},{"sentence":"bad","is_wrong":true}]}"#:
        (1, "bad\nKnown, and no trouble now:\nn ote"),
      #"{"hello":1}"#: (69, "is no endpoint of SessionTap"), "": (69, "answers 401"),
    ]
    for (text, expected) in answers {
      let origin = try Origin { _ in [.response(text.isEmpty ? "401 No" : "200 OK", body: Array(text.utf8))] }
      let url = origin.url("/why").absoluteString.replacing("http://", with: "http://me:s3cret@")
      let (status, output) = try await Self.end(["why", url])
      #expect(status == expected.0 && output.hasSuffix(expected.1 + (status == 0 ? "" : "\n")), "\(output)")
      #expect(!output.contains("s3cret"))
      #expect(
        origin.requests.map { $0.headers["Authorization"] ?? $0.headers["authorization"] } == [
          "Basic bWU6czNjcmV0"
        ])
    }
  }

  /// Before 6.3.2 Foundation waits for credentials without an end, whatever its own time-out says.
  @Test func `a probe bounds each request by its time-out, and says so`() async throws {
    let origin = try Origin { _ in
      [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"r\"")])]
    }
    let url = origin.url("/secret?token=s3cret").absoluteString
    let options = ["--count", "1", "--timeout", "1s", "--port", "0"]
    let result = try await Self.end(["probe", url] + options)
    #expect(result.status == 1 && !result.output.contains("s3cret"))
    let said = "not answered within 1 s: cancelled"
    #expect(result.output.contains(said) || result.output.contains("1 http errors"))
  }

  @Test func `the probe makes its rounds and ends`() async throws {
    let origin = try Origin { _ in [.response()] }
    let folder = try TemporaryFolder()
    let log = folder("requests.jsonl")
    let urls = ["/a", "/b"].map { "\(origin.url($0))" }
    let options = ["--every", "0.0002m", "--count", "3", "--port", "0", "--log", log]
    #expect(try await Self.end(["probe"] + urls + options).status == 0)
    #expect(try folder.lines("requests.jsonl").count == 6 && origin.requests.count == 6)
  }
}
