import TestSupport

@testable import SessionTap

@Suite struct PushTests {
  // MARK: The target

  @Test(arguments: [
    ("http://gw", "a", [:], "gw:80", "http://gw/metrics/job/a"),
    ("HTTP://gw:9091/", "a", [:], "gw:9091", "http://gw:9091/metrics/job/a"),
    ("https://gw", "a", [:], "gw:443", "https://gw/metrics/job/a"),
    ("http://[::1]:1/sub/path//", "a", [:], "[::1]:1", "http://[::1]:1/sub/path/metrics/job/a"),
    (
      "http://gw", "a/b", ["z": "1", "instance": "x:1"], "gw:80",
      "http://gw/metrics/job@base64/YS9i/instance@base64/eDox/z/1"
    ),
    (
      "http://gw", "ü?>", ["empty": "", "more": ">>>"], "gw:80",
      "http://gw/metrics/job@base64/w7w_Pg==/empty@base64/=/more@base64/Pj4-"
    ),
    // A letter that is equal to K, and none of ASCII.
    ("http://gw", "\u{212A}", [:], "gw:80", "http://gw/metrics/job@base64/4oSq"),
    ("http://gw/a%2Fb/", "a", [:], "gw:80", "http://gw/a%2Fb/metrics/job/a"),
    ("http://gw:8", "..", [:], "gw:8", "http://gw:8/metrics/job@base64/Li4="),
    ("http://gw:65535", ".", [:], "gw:65535", "http://gw:65535/metrics/job@base64/Lg=="),
  ])
  func `names the group`(
    url: String, job: String, grouping: [String: String], authority: String, group: String
  ) throws {
    let gateway = try PushGateway(url, job: job, grouping: grouping)
    #expect(gateway.authority == authority)
    #expect(gateway.url.absoluteString == group)
    #expect(gateway.authorization == nil)
  }

  @Test(arguments: [
    ("ftp://u:secret@gw", "a", [:]), ("gw:9091", "a", [:]), ("http://", "a", [:]), ("http:///x", "a", [:]),
    ("http://a b", "a", [:]), ("http://gw:x", "a", [:]), ("http://gw:0", "a", [:]),
    ("http://gw:65536", "a", [:]), ("http://u:secret@gw?x", "a", [:]), ("http://gw/?x", "a", [:]),
    ("http://gw/#x", "a", [:]), ("http://u:secret@gw", "", [:]), ("http://gw\r\nX: y", "a", [:]),
    ("http://g%00w", "a", [:]), ("http://gw", "a", ["job": "b"]), ("http://gw", "a", ["0": "b"]),
    ("http://gw", "a", ["__x": "b"]), ("http://gw", "a", ["a-b": "b"]), ("http://gw", "a", ["": "b"]),
  ])
  func `refuses what is no target`(url: String, job: String, grouping: [String: String]) {
    let error = #expect(throws: TapError.self) { try PushGateway(url, job: job, grouping: grouping) }
    #expect(error?.code == .push)
    let problem =
      job.isEmpty
      ? "the job has no name"
      : grouping.keys.first.map { "no label to group by: \($0)" }
        ?? "not the URL of a gateway: take http://HOST[:PORT][/PATH], or https"
    #expect(error?.description == problem)
  }

  @Test(arguments: [
    ("https://user:s3cret@gw:9091", "user:s3cret"), ("http://user:s3cret@gw", "user:s3cret"),
    ("https://:s3cret@gw:9091", ":s3cret"), ("https://s3cret@gw:9091", "s3cret:"),
    ("https://user:s3%2Fcret%40@gw:9091", "user:s3/cret@"),
    ("https://us%3Aer:s3cret@[::1]:9091/x", "us:er:s3cret"),
  ])
  func `has the credentials nowhere but in its field`(url: String, credentials: String) throws {
    let gateway = try PushGateway(url, job: "a")
    #expect(gateway.authorization == "Basic \(Data(credentials.utf8).base64EncodedString())")
    for text in [gateway.authority, gateway.url.absoluteString, "\(gateway.url)"] {
      #expect(!text.contains("s3cret") && !text.contains("@"), "\(text)")
    }
  }

  @Test(arguments: [
    "https://user:s3cret@gw:9091 ", "https://user:s3/cret@gw:9091", "https://user:s3#cret@gw:9091",
    "gw:s3cret@x", "https://user%3As3cret%40gw:9091", "https://gw:s3cret", "user:s3cret@gw:9091",
    "https://u:s3cret@\u{301}gw", "https://user:s3 cret@gw:9091", "https://user:s3?cret@gw",
  ])
  func `what is no gateway is refused without its text`(url: String) {
    let error = #expect(throws: TapError.self) { try PushGateway(url, job: "a") }
    #expect(error?.description.contains("cret") == false, "\(String(describing: error))")
  }

  @Test func `an error has no credentials of what else it is about`() async throws {
    let origin = try Origin { _ in
      [.response("502 Bad Gateway", body: Array("no upstream http://user:s3cret@backend:80/".utf8))]
    }
    let error = await Self.error(of: try Self.pusher(Registry(), origin.port))
    #expect(
      error?.description == "127.0.0.1:\(origin.port) answers 502: no upstream http://REDACTED@backend:80/")
    let grouped = #expect(throws: TapError.self) {
      try PushGateway("http://gw", job: "a", grouping: ["http://u:s3cret@x": ""])
    }
    #expect(grouped?.description.contains("s3cret") == false)
  }

  // MARK: Retries

  @Test func `waits longer with each try`() {
    let delays = (1...8).map { MetricsPusher.delay(after: $0, jitter: 0) }
    #expect(delays == [0.5, 1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    #expect(MetricsPusher.delay(after: 2, jitter: 1) == .milliseconds(500))
    #expect(MetricsPusher.delay(after: .max, jitter: 0) == .seconds(30))
  }

  @Test(arguments: [
    ([503, 500, 200], 3, true), ([429, 408, 202], 3, true), ([400], 1, false), ([404], 1, false),
    ([500], 5, false), ([503, 404], 2, false), ([300], 1, false), ([299], 1, true), ([501, 499], 2, false),
  ])
  func `tries again what may be over soon`(statuses: [Int], tries: Int, succeeds: Bool) async throws {
    let rest = Mutex(statuses)
    let origin = try Origin { _ in
      let status = rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
      return [.response("\(status) X", body: Array("because\n".utf8))]
    }
    let registry = Registry()
    let pauses = try registry.counter("pauses_total", help: "Pauses.")
    let pusher = try Self.pusher(registry, origin.port) { _ in
      if origin.requests.count == 5 { throw CancellationError() }
      pauses.increment()
    }
    let error = await Self.error(of: pusher)
    #expect((error == nil) == succeeds)
    if let error {
      #expect(error.code == .push)
      #expect(error.description == "127.0.0.1:\(origin.port) answers \(statuses.last ?? 0): because")
    }
    #expect(origin.requests.count == tries)
    // Each has the metrics of its time.
    let bodies = origin.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies.enumerated().allSatisfy { $1.contains("\npauses_total \($0)\n") })
    for (outcome, count) in [("ok", succeeds ? 1.0 : 0), ("error", succeeds ? 0 : 1)] {
      #expect(registry.value(ofSeries: "session_tap_pushes_total{outcome=\"\(outcome)\"}") == count)
    }
  }

  // MARK: The request

  @Test func `replaces the group`() async throws {
    let registry = Registry()
    try registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    let origin = try Origin { _ in [.response("202 Accepted")] }
    try await Self.pusher(registry, origin.port, userinfo: "Aladdin:open%20sesame@").push()
    let request = try #require(origin.requests.first)
    #expect(origin.requests.count == 1)
    #expect(request.method == "PUT")
    #expect(request.target == "/metrics/job/test")
    #expect(request.headers["host"] == "127.0.0.1:\(origin.port)")
    #expect(request.headers["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(request.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    #expect(request.headers["content-length"] == "\(request.body.count)")
    #expect(String(decoding: request.body, as: UTF8.self).contains("\njobs_total 3"))
    // Nor is there a connection left.
    try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
  }

  @Test func `says that nobody is there`() async throws {
    let (closed, isTriedAgain) = (try ClosedPort(), Gate())
    let pusher = try Self.pusher(Registry(), closed.port, userinfo: "me:secret@") { _ in
      isTriedAgain.open()
      throw CancellationError()
    }
    let error = await Self.error(of: pusher)
    #expect(isTriedAgain.isOpen)
    #expect(error?.code == .push)
    #expect(error?.description.hasPrefix("cannot push to 127.0.0.1:\(closed.port): ") == true)
    #expect(error?.description.contains("secret") == false)
  }

  /// The credentials are for the gateway alone.
  @Test func `follows no redirect`() async throws {
    let other = try Origin { _ in [.response()] }
    let origin = try Origin { _ in
      [.response("307 Temporary Redirect", headers: [("Location", other.url("/x").absoluteString)])]
    }
    let error = await Self.error(of: try Self.pusher(Registry(), origin.port, userinfo: "me:secret@"))
    let meaning = HTTPURLResponse.localizedString(forStatusCode: 307)
    #expect(error?.description == "127.0.0.1:\(origin.port) answers 307: \(meaning)")
    #expect(other.requests.isEmpty)
  }

  @Test(arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer"])
  func `gives the gateway no other credentials`(challenge: String) async throws {
    let origin = try Origin { _ in
      [.response("401 Unauthorized", headers: [("WWW-Authenticate", challenge)], body: Array("who?".utf8))]
    }
    let error = await Self.error(of: try Self.pusher(Registry(), origin.port, userinfo: "me:secret@"))
    #expect(error?.description == "127.0.0.1:\(origin.port) answers 401: who?")
    #expect(origin.requests.count == 1)
  }

  // MARK: The response

  /// A gateway that leaves the connection open behind its answer (RFC 9112, section 6.3).
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
    ("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok", nil), ("HTTP/1.1 204 No Content\r\n\r\n", nil),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", nil),
    ("HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nw\r\n2\r\nhy\r\n0\r\n\r\n", "400: why"),
    (
      "HTTP/1.1 400 No\r\nContent-Length: 31\r\n\r\n\n \n  text\tformat\u{7}error\u{7F}now\nmore",
      "400: text format error now"
    ),
    (
      "HTTP/1.1 400 No\r\nContent-Length: 51\r\n\r\nrefused: 2 error(s) occurred:\n* first cause\n* second",
      "400: refused: 2 error(s) occurred: * first cause"
    ),
    ("HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\nrefused:\n", "400: refused:"),
    ("HTTP/1.1 400 No\r\nContent-Length: 12\r\n\r\nfirst\rsecond", "400: first"),
  ])
  func `an answer ends where it says`(answer: String, refusal: String?) async throws {
    let end = Gate()
    let origin = try Origin { _ in [.text(answer), .hold(end)] }
    defer { end.open() }
    let error = await Self.error(of: try Self.pusher(Registry(), origin.port))
    #expect(error?.description == refusal.map { "127.0.0.1:\(origin.port) answers \($0)" })
  }

  /// A body without an end, of which no more is read than it takes, and no more told than helps.
  @Test func `reads no more of a body than its limit`() async throws {
    let end = Gate()
    let origin = try Origin { _ in
      let body = [UInt8](repeating: UInt8(ascii: "x"), count: 65_537)
      return [.text("HTTP/1.1 500 X\r\n\r\n"), .send(body), .hold(end)]
    }
    defer { end.open() }
    let error = await Self.error(of: try Self.pusher(Registry(), origin.port))
    let reason = String(repeating: "x", count: 1_000)
    #expect(error?.description == "127.0.0.1:\(origin.port) answers 500: \(reason)")
    end.open()
    try await Poll.until("the end of the connection") { origin.connectionCount == 0 }
  }

  /// One that tries once, and waits for no machine, however busy.
  static func pusher(
    _ registry: Registry, _ port: Int, userinfo: String = "",
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in throw CancellationError() }
  ) throws -> MetricsPusher {
    try MetricsPusher(
      registry: registry, to: PushGateway("http://\(userinfo)127.0.0.1:\(port)", job: "test"),
      tryLimit: .seconds(120), sleep: sleep)
  }

  static func error(of pusher: MetricsPusher, within limit: Duration = .seconds(240)) async -> TapError? {
    do throws(TapError) {
      try await pusher.push(within: limit)
      return nil
    } catch {
      return error
    }
  }
}
