import TestSupport

@testable import SessionTap

@Suite struct PushTests {
  // MARK: The target

  @Test func `a gateway names the group`() throws {
    let rows: [(url: String, job: String, grouping: [String: String], group: String)] = [
      ("http://gw", "a", [:], "gw:80 http://gw/metrics/job/a"),
      ("HTTP://gw:9091/", "a", [:], "gw:9091 http://gw:9091/metrics/job/a"),
      ("https://gw", "a", [:], "gw:443 https://gw/metrics/job/a"),
      ("http://[::1]:1/sub/path//", "a", [:], "[::1]:1 http://[::1]:1/sub/path/metrics/job/a"),
      (
        "http://gw", "a/b", ["z": "1", "instance": "x:1"],
        "gw:80 http://gw/metrics/job@base64/YS9i/instance@base64/eDox/z/1"
      ),
      (
        "http://gw", "ü?>", ["empty": "", "more": ">>>"],
        "gw:80 http://gw/metrics/job@base64/w7w_Pg==/empty@base64/=/more@base64/Pj4-"
      ),
      // A letter that is equal to K, and none of ASCII.
      ("http://gw", "\u{212A}", [:], "gw:80 http://gw/metrics/job@base64/4oSq"),
      ("http://gw/a%2Fb/", "a", [:], "gw:80 http://gw/a%2Fb/metrics/job/a"),
      ("http://gw:8", "..", [:], "gw:8 http://gw:8/metrics/job@base64/Li4="),
      ("http://gw:65535", ".", [:], "gw:65535 http://gw:65535/metrics/job@base64/Lg=="),
    ]
    let gateways = try rows.map { try PushGateway($0.url, job: $0.job, grouping: $0.grouping) }
    #expect(gateways.map { "\($0.authority) \($0.url)" } == rows.map(\.group))
    #expect(gateways.allSatisfy { $0.authorization == nil })
  }

  @Test func `userinfo is for the Authorization field alone`() throws {
    let rows = [
      ("https://user:s3cret@gw:9091", "user:s3cret"), ("https://:s3cret@gw:9091", ":s3cret"),
      ("https://s3cret@gw:9091", "s3cret:"), ("https://user:s3%2Fcret%40@gw:9091", "user:s3/cret@"),
      ("https://us%3Aer:s3cret@[::1]:9091/x", "us:er:s3cret"),
    ]
    let gateways = try rows.map { try PushGateway($0.0, job: "a") }
    let fields = rows.map { "Basic \(Data($0.1.utf8).base64EncodedString())" }
    #expect(gateways.map(\.authorization) == fields)
    let texts = gateways.map { "\($0.authority) \($0.url)" }
    #expect(texts.filter { $0.contains("cret") || $0.contains("@") } == [])
  }

  @Test func `what is no target is refused without its text`() {
    let urls = [
      "ftp://u:secret@gw", "gw:9091", "http://", "http:///x", "http://a b", "http://gw:x", "http://gw:0",
      "http://gw:65536", "http://u:secret@gw?x", "http://gw/#x", "http://gw\r\nX: y", "http://g%00w",
      "https://user:secret@gw:9091 ", "https://user:se/cret@gw:9091", "https://user:se#cret@gw:9091",
      "https://user%3Asecret%40gw:9091", "https://u:secret@\u{301}gw", "https://user:se?cret@gw",
    ]
    func error(_ url: String, _ job: String, _ grouping: [String: String] = [:]) -> String? {
      #expect(throws: TapError.self) { try PushGateway(url, job: job, grouping: grouping) }?.description
    }
    let problem = "not the URL of a gateway: take http://HOST[:PORT][/PATH], or https"
    #expect(urls.filter { error($0, "a") != problem } == [])
    #expect(error("http://u:secret@gw", "") == "the job has no name")
    for label in ["job", "0", "__x", "a-b", "", "http://u:s@x"] {
      let shown = label.replacing("u:s@", with: "REDACTED@")
      #expect(error("http://gw", "a", [label: "b"]) == "no label to group by: \(shown)")
    }
  }

  // MARK: The request

  private static func push(
    to port: Int, userinfo: String = "", within limit: Duration = .seconds(120), of tap: Tap? = nil
  ) async throws -> String? {
    let tap = try tap ?? Tap(.test { $0.endpoint = nil })
    let gateway = try PushGateway("http://\(userinfo)127.0.0.1:\(port)", job: "test")
    do throws(TapError) {
      try await tap.push(to: gateway, within: limit)
      return nil
    } catch {
      #expect(error.code == .push)
      return error.description.replacing("127.0.0.1:\(port)", with: "gw")
    }
  }

  @Test func `one request replaces the group`() async throws {
    let tap = try Tap(.test { $0.endpoint = nil })
    try tap.registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    let origin = try Origin { _ in [.response("202 Accepted")] }
    #expect(try await Self.push(to: origin.port, userinfo: "Aladdin:open%20sesame@", of: tap) == nil)
    #expect(try await Self.push(to: origin.port, within: .zero, of: tap) == "gw does not answer in time")
    let request = try #require(origin.requests.first)
    let body = String(decoding: request.body, as: UTF8.self)
    #expect(origin.requests.count == 1 && body.contains("\njobs_total 3\n"))
    let expected: [String: String] = [
      "host": "127.0.0.1:\(origin.port)", "authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
      "content-type": "text/plain; version=0.0.4; charset=utf-8", "content-length": "\(request.body.count)",
    ]
    #expect(request.method == "PUT" && request.target == "/metrics/job/test")
    #expect(request.headers.filter { expected[$0.key] != nil } == expected)
    // Nor is there a connection left.
    try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
  }

  /// The credentials are for the gateway alone.
  @Test func `an error says that nobody is there, and no redirect and no challenge is followed`() async throws
  {
    let (closed, other) = (try ClosedPort(), try Origin { _ in [.response()] })
    let error = try await Self.push(to: closed.port, userinfo: "me:secret@")
    #expect(error?.hasPrefix("cannot push to gw: ") == true && error?.contains("secret") == false)
    let challenges = ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer"]
    let answers = challenges.map { challenge in
      OriginStep.response("401 No", headers: [("WWW-Authenticate", challenge)], body: Array("who?".utf8))
    }
    let rows: [(OriginStep, String)] =
      [(.redirect("307 No", to: other.url("/x").absoluteString, body: "x"), "307: x")]
      + answers.map { ($0, "401: who?") }
    for (answer, problem) in rows {
      let origin = try Origin { _ in [answer] }
      #expect(try await Self.push(to: origin.port, userinfo: "me:secret@") == "gw answers \(problem)")
      #expect(origin.requests.count == 1 && other.requests.isEmpty)
    }
  }

  // MARK: The response

  /// A gateway that leaves the connection open behind its answer (RFC 9112, section 6.3).
  @Test func `an answer ends where it says, and its text is the reason`() async throws {
    let rows: [(answer: String, error: String?)] = [
      ("200 OK\r\nContent-Length: 0\r\n\r\n", nil), ("299 X\r\nContent-Length: 2\r\n\r\nok", nil),
      ("204 No Content\r\n\r\n", nil),
      ("100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
      ("200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", nil),
      ("400 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nw\r\n2\r\nhy\r\n0\r\n\r\n", "400: why"),
      (
        "400 No\r\nContent-Length: 31\r\n\r\n\n \n  text\tformat\u{7}error\u{7F}now\nmore",
        "400: text format error now more"
      ),
      ("503 No\r\nContent-Length: 18\r\n\r\nhttp://u:s@gw:80/\n", "503: http://REDACTED@gw:80/"),
      // Without a text, what the status means.
      (
        "307 X\r\nContent-Length: 0\r\n\r\n", "307: \(HTTPURLResponse.localizedString(forStatusCode: 307))"
      ),
      // A body without an end, of which no more is read than it takes, and no more told than helps.
      (
        "500 X\r\n\r\n" + String(repeating: "x", count: 65_537),
        "500: " + String(repeating: "x", count: 1_000)
      ),
    ]
    for row in rows {
      let end = Gate()
      let origin = try Origin { _ in [.text("HTTP/1.1 " + row.answer), .hold(end)] }
      defer { end.open() }
      #expect(try await Self.push(to: origin.port) == row.error.map { "gw answers \($0)" })
      end.open()
      try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
    }
  }

  // MARK: The end without an answer

  @Test func `a push ends with its task`() async throws {
    let (asked, end) = (Gate(), Gate())
    let origin = try Origin { _ in [.signal(asked), .hold(end)] }
    defer { end.open() }
    let push = Task { try await Self.push(to: origin.port, within: .seconds(3_600)) }
    try await asked.wait("the request")
    push.cancel()
    #expect(try await push.value == "cannot push to gw: the task was cancelled")
    #expect(origin.requests.count == 1)
  }

  /// A deadline or a cancel that comes behind the answer does not undo it.
  @Test func `the first outcome counts, and a thread that waits has it at once`() async throws {
    let outcome = Promise<Int>()
    let (begun, ended) = (Gate(), Gate())
    Thread.detachNewThread {
      begun.open()
      if outcome.wait(until: .now.advanced(by: .seconds(3_600))) == 1 { ended.open() }
    }
    try await begun.wait("the thread")
    for value in [1, 2] { outcome.fulfill(value) }
    try await ended.wait("the outcome")
    #expect(await outcome.value == 1)
  }

  /// None of these ever ends, so a push that waits for its end does not either.
  @Test(arguments: Endless.allCases)
  func `a push ends at its deadline whatever the gateway sends`(endless: Endless) async throws {
    let end = Gate()
    let origin = try Origin { _ in endless.steps(end) }
    defer { end.open() }
    let error = try await Self.push(to: origin.port, within: .milliseconds(300))
    // Of 300 KiB of heads libcurl makes an error, which a fast machine reaches before the deadline.
    if endless != .interimFlood || error?.contains("Too large response headers") == false {
      #expect(error == "gw does not answer in time")
    }
    end.open()
    // It is not read any further. A head that is cut short would end the process (swift-corelibs-foundation
    // #5285).
    try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
  }

  enum Endless: CaseIterable {
    case silence, interimResponses, interimFlood, drippingHead, drippingBody

    func steps(_ end: Gate) -> [OriginStep] {
      func drip(_ text: String) -> [OriginStep] { (0..<100_000).flatMap { _ in [.think(20), .text(text)] } }
      switch self {
      case .silence: return [.hold(end)]
      case .interimResponses: return drip("HTTP/1.1 100 Continue\r\n\r\n")
      case .interimFlood:
        let flood = Array(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1_000).utf8)
        return [OriginStep](repeating: .send(flood), count: 1_000_000)
      case .drippingHead: return [.text("HTTP/1.1 200 OK\r\nX: ")] + drip("x")
      case .drippingBody: return [.text("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")] + drip("x")
      }
    }
  }

  /// Something else may hold the one queue of all sessions, for which other tests wait meanwhile, with all of
  /// Swift's threads.
  @Test(.needs(.sessionQueue)) func `a push ends at its deadline while Foundation stands still`() async throws
  {
    let origin = try Origin { _ in [.response()] }
    let (held, release) = (Gate(), Gate())
    let session = URLSession(configuration: with(.ephemeral) { $0.protocolClasses = [QueueHold.self] })
    let hold = QueueHold.url {
      held.open()
      release.waitBlocking()
    }
    session.dataTask(with: hold).resume()
    try await held.wait("the queue")
    #expect(try await Self.push(to: origin.port, within: .milliseconds(300)) == "gw does not answer in time")
    release.open()
    session.finishTasksAndInvalidate()
  }

  // MARK: A Pushgateway of Debian's

  @Test(
    .needs(.program),
    .enabled(if: Tool.isUsable("prometheus-pushgateway"), "prometheus-pushgateway is missing"))
  func `a Pushgateway takes a push, and says what it refuses`() async throws {
    let process = try ChildProcess(
      Tool("prometheus-pushgateway").url, ["--web.listen-address=127.0.0.1:0", "--persistence.file="])
    try await process.waitForOutput("TLS is disabled")
    let match = process.output.firstMatch(of: /TLS is disabled.*address=127\.0\.0\.1:(\d+)/)
    let port = try #require(match.flatMap { Int($0.1) })
    let tap = try Tap(.test { $0.endpoint = nil })
    let jobs = try tap.registry.counter("jobs_total", help: "Jobs.")
    let durations = try tap.registry.histogram("job_duration_seconds", help: "Durations.", unit: "seconds")
    for value in [0.01, 0.2, 30] { durations.record(value) }
    for job in ["nightly", "a/b c"] {
      let gateway = try PushGateway("http://127.0.0.1:\(port)", job: job, grouping: ["instance": "here"])
      for _ in 0..<2 {
        jobs.increment()
        try await tap.push(to: gateway)
      }
      let metrics = try await RawClient.get("/metrics", port: port)
      let group = "{instance=\"here\",job=\"\(job)\"}"
      #expect(metrics.contains("\njobs_total\(group) \(Int(jobs.value))\n"))
      #expect(metrics.contains("\njob_duration_seconds_count\(group) 3\n"))
      // It compares what it has itself.
      #expect(metrics.contains("\nprocess_open_fds\(group) "))
      #expect(!process.output.contains("different help string"))
    }
    _ = try tap.registry.gauge("go_memstats_frees_total", help: "Not a counter.")
    let error = try await Self.push(to: port, of: tap)
    #expect(error?.contains("go_memstats_frees_total has type GAUGE but should") == true)
    try await process.terminate()
  }
}
