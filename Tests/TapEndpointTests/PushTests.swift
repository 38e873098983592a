import Synchronization
import TapCore
import TestSupport
import Testing

@testable import TapEndpoint

@Suite struct PushTests {
  // MARK: The target

  @Test(arguments: [
    ("http://gw", "a", [:], "gw:80", "/metrics/job/a"),
    ("HTTP://gw:9091/", "a", [:], "gw:9091", "/metrics/job/a"),
    ("http://[::1]:1/sub/path//", "a", [:], "[::1]:1", "/sub/path/metrics/job/a"),
    (
      "http://gw", "a/b", ["z": "1", "instance": "x:1"], "gw:80",
      "/metrics/job@base64/YS9i/instance@base64/eDox/z/1"
    ),
    ("http://gw", "ü?>", ["empty": ""], "gw:80", "/metrics/job@base64/w7w_Pg==/empty@base64/="),
    ("http://gw:", "..", [:], "gw:80", "/metrics/job@base64/Li4="),
  ])
  func `names the group`(
    url: String, job: String, grouping: [String: String], authority: String, path: String
  )
    throws
  {
    let gateway = try PushGateway(url, job: job, grouping: grouping)
    #expect(gateway.authority == authority)
    #expect(gateway.path == path)
    #expect(gateway.authorization == nil)
  }

  @Test func `takes credentials from the URL`() throws {
    let gateway = try PushGateway("http://Aladdin:open%20sesame@gw", job: "a")
    #expect(gateway.authorization == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(gateway.authority == "gw:80")
  }

  @Test(arguments: [
    ("https://gw", "a", [:]), ("gw:9091", "a", [:]), ("http://", "a", [:]), ("http:///x", "a", [:]),
    ("http://a b", "a", [:]), ("http://gw:x", "a", [:]),
    ("http://gw", "", [:]), ("http://gw?x", "a", [:]), ("http://gw/?x", "a", [:]),
    ("http://gw\r\nX: y", "a", [:]), ("http://gw", "a", ["job": "b"]),
    ("http://gw", "a", ["0": "b"]), ("http://gw", "a", ["__x": "b"]), ("http://gw", "a", ["a-b": "b"]),
    ("http://gw", "a", ["": "b"]),
  ])
  func `refuses what is no target`(url: String, job: String, grouping: [String: String]) {
    let error = #expect(throws: PushError.self) { try PushGateway(url, job: job, grouping: grouping) }
    #expect(error?.code == .invalidTarget)
  }

  // MARK: Retries

  @Test func `waits longer with each try`() {
    let retry = PushRetry()
    #expect(
      (1...8).map { retry.delay(after: $0, jitter: 0) } == [0.5, 1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    #expect(retry.delay(after: 2, jitter: 1) == .milliseconds(500))
    #expect(retry.delay(after: .max, jitter: -1) == .seconds(30))
    #expect(retry.delay(after: .min, jitter: 0) == .milliseconds(500))
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n\r\n", 200, "OK"),
    (
      "HTTP/1.0 400 Bad Request\r\nX: y\r\n\r\n  text format\tparsing\u{7}error\nmore", 400,
      "text format parsing error"
    ),
    ("HTTP/1.1 500", 500, ""), ("HTTP/1.1 20", nil, ""), ("HTTP/1.1 200\nX: y\n\nbody", 200, ""),
    ("SSH-2.0-OpenSSH", nil, ""), ("", nil, ""),
    ("HTTP/1.1 2x0 OK", nil, ""),
  ])
  func `reads answers`(text: String, status: Int?, reason: String) {
    var parser = ResponseParser()
    _ = parser.take(Array(text.utf8)[...])
    #expect(parser.answer.status == status)
    #expect(parser.answer.reason == reason)
  }

  /// RFC 9112, section 6.3. What stands behind the bar belongs to no answer.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok|ay", 200, "ok"),
    ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n|HTTP/1.1 500 No\r\n", 200, "OK"),
    ("HTTP/1.1 204 None\r\nContent-Length: 9\r\n\r\n|", 204, "None"),
    ("HTTP/1.1 304 Same\r\nTransfer-Encoding: chunked\r\n\r\n|", 304, "Same"),
    (
      "HTTP/1.1 100 Go\r\nContent-Length: 9\r\n\r\nHTTP/1.1 102 On\r\n\r\nHTTP/1.1 204 None\r\n\r\n|", 204,
      "None"
    ),
    ("HTTP/1.1 101 Other\r\n\r\n|x", 101, "Other"),
    (
      "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nbe\r\n5\r\ncause\r\n0\r\nX: y\r\n\r\n|",
      400, "because"
    ),
    (
      "HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\nno\r\n0\r\n\r\n|", 400,
      "no"
    ),
    // Where these end is not known: the status is.
    ("HTTP/1.1 400 Bad\r\nContent-Length: x\r\n\r\n|no", 400, "Bad"),
    ("HTTP/1.1 400 Bad\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n|no", 400, "Bad"),
    ("HTTP/1.1 400 Bad\r\nTransfer-Encoding: gzip\r\n\r\n|no", 400, "Bad"),
    ("HTTP/1.1 400 Bad\r\n:|\r\n\r\nno", 400, "Bad"),
    ("SSH-2.0-OpenSSH\r\n|", nil, ""),
  ])
  func `finds the end of an answer`(text: String, status: Int?, reason: String) {
    let parts = text.split(separator: "|", omittingEmptySubsequences: false)
    let bytes = Array(parts.joined().utf8)
    for step in [1, 2, 7, bytes.count] {
      var parser = ResponseParser()
      var taken = 0
      while taken < bytes.count {
        let next = min(taken + step, bytes.count)
        let isComplete = parser.take(bytes[taken..<next])
        taken = next
        #expect(isComplete == (taken >= parts[0].utf8.count))
        if isComplete { break }
      }
      #expect(parser.answer == ClientResponse(status: status, reason: reason))
    }
  }

  @Test func `an answer without a length ends with the connection or the limit`() {
    for length in ["", "Content-Length: \(Int.max)\r\n"] {
      var parser = ResponseParser()
      let parts = [
        Array("HTTP/1.1 400 Bad\r\n\(length)\r\nbecause\n".utf8), Self.filler(60_000), Self.filler(10_000),
      ]
      #expect(parts.map { parser.take($0[...]) } == [false, false, true])
      #expect(parser.answer == ClientResponse(status: 400, reason: "because"))
    }
  }

  @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 400 Bad\r\nX: "])
  func `a head without an end is cut`(head: String) {
    var parser = ResponseParser()
    #expect([Array(head.utf8), Self.filler(10_000)].map { parser.take($0[...]) } == [false, true])
    #expect(parser.answer.status != nil)
  }

  private static func filler(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: count) }

  // MARK: Addresses

  @Test func `each address has its share of the time`() {
    #expect(HTTPClient.share(of: .seconds(9), among: 3) == .seconds(3))
    #expect(HTTPClient.share(of: .seconds(9), among: 1) == .seconds(9))
    #expect(HTTPClient.share(of: .seconds(-9), among: 0) == .seconds(-9))
  }

  /// The first address does not establish a connection, or accepts one and does not answer.
  @Test(arguments: [false, true])
  func `an address that does not answer leaves time to the next`(isAccepted: Bool) async throws {
    let end = Gate()
    let silent = try SilentListener()
    let accepting = try Origin { _ in [.hold(end)] }
    let live = try Origin { _ in [.response("202 Accepted")] }
    defer {
      end.open()
      accepting.stop()
      live.stop()
    }
    let ports = [isAccepted ? accepting.port : silent.port, live.port]
    let answer = try await HTTPClient.run(
      Array("PUT / HTTP/1.1\r\nHost: gw\r\nContent-Length: 0\r\n\r\n".utf8), host: "gw", port: 80,
      within: .seconds(6)
    ) { _, _ throws(PushError) in
      SocketAddress.resolve(host: "127.0.0.1", port: ports[0])
        + SocketAddress.resolve(host: "127.0.0.1", port: ports[1])
    }
    #expect(answer.status == 202)
    #expect(live.requests.count == 1)
    withExtendedLifetime(silent) {}
  }

  /// A gateway that answers with the statuses in turn, and keeps what it was sent.
  private final class FakeGateway: Sendable {
    private let state: Mutex<(statuses: [Int], requests: [EndpointRequest])>

    init(_ statuses: [Int]) { state = Mutex((statuses, [])) }

    var requests: [EndpointRequest] { state.withLock { $0.requests } }

    var route: EndpointRoute {
      EndpointRoute("/metrics/job/*", methods: ["PUT"]) { request in
        let status = self.state.withLock { state in
          state.requests.append(request)
          return state.statuses.count > 1 ? state.statuses.removeFirst() : state.statuses[0]
        }
        return .text("because", status: EndpointStatus(rawValue: status))
      }
    }
  }

  private func pusher(
    _ registry: Registry, port: Int,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in }
  ) throws -> MetricsPusher {
    var retry = PushRetry()
    retry.deadline = .seconds(60)
    return try MetricsPusher(
      registry: registry, to: PushGateway("http://127.0.0.1:\(port)", job: "test"), retry: retry,
      sleep: sleep)
  }

  @Test func `replaces the group`() async throws {
    let registry = Registry()
    try registry.counter("jobs_total", help: "Jobs.").increment(by: 3)
    let gateway = FakeGateway([202])
    try await withEndpoint(routes: [gateway.route]) { port in
      try await pusher(registry, port: port).push()
      let request = try #require(gateway.requests.first)
      #expect(gateway.requests.count == 1)
      #expect(request.path == "/metrics/job/test")
      #expect(request.authority == "127.0.0.1:\(port)")
      #expect(request.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      #expect(String(decoding: request.body, as: UTF8.self).contains("\njobs_total 3"))
    }
  }

  @Test(arguments: [
    ([503, 500, 200], 3, nil), ([429, 408, 202], 3, nil), ([400], 1, false), ([404], 1, false),
    ([500], 5, true),
  ])
  func `tries again what may be over soon`(statuses: [Int], tries: Int, isTransient: Bool?) async throws {
    let registry = Registry()
    let gateway = FakeGateway(statuses)
    try await withEndpoint(routes: [gateway.route]) { port in
      let pusher = try pusher(registry, port: port)
      do {
        try await pusher.push()
        #expect(isTransient == nil)
      } catch let error as PushError {
        #expect(error.code == .refused)
        #expect(error.isTransient == isTransient)
        #expect(error.description == "127.0.0.1:\(port) answers \(statuses[0]): because")
      }
      #expect(gateway.requests.count == tries)
      let outcome = isTransient == nil ? "ok" : "error"
      let text = String(decoding: registry.exposition(in: .text).bytes, as: UTF8.self)
      #expect(text.contains("session_tap_pushes_total{outcome=\"\(outcome)\"} 1"))
    }
  }

  @Test func `says that nobody is there`() async throws {
    // A port that was free a moment ago.
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [])
    let port = try #require(try endpoint.start().port)
    await endpoint.shutdown()
    let pusher = try pusher(Registry(), port: port)
    let error = await #expect(throws: PushError.self) { try await pusher.push() }
    #expect(error?.code == .unreachable)
    #expect(error?.isTransient == true)
    #expect(error?.description == "cannot connect to 127.0.0.1:\(port): Connection refused")
  }

  @Test func `gives up on a gateway that does not answer`() async throws {
    let route = EndpointRoute("/*", methods: ["PUT"]) { _ in
      for await _ in AsyncStream<Never>.makeStream().stream {}
      return .text("")
    }
    try await withEndpoint(routes: [route]) { port in
      var retry = PushRetry()
      retry.deadline = .milliseconds(50)
      retry.attempts = 1
      let pusher = try MetricsPusher(
        registry: Registry(), to: PushGateway("http://127.0.0.1:\(port)", job: "test"), retry: retry)
      let error = await #expect(throws: PushError.self) { try await pusher.push() }
      #expect(error?.description == "127.0.0.1:\(port) does not answer in time")
    }
  }

  /// A gateway that leaves the connection open behind its answer (RFC 9112, section 6.3).
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
    ("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok", nil),
    ("HTTP/1.1 204 No Content\r\n\r\n", nil),
    ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", nil),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n", nil),
    (
      "HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbec\r\n4\r\nause\r\n0\r\n\r\n",
      "400: because"
    ),
    ("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "304: Not Modified"),
  ])
  func `an answer ends where it says`(answer: String, refusal: String?) async throws {
    let end = Gate()
    let origin = try Origin { _ in [.text(answer), .hold(end)] }
    defer {
      end.open()
      origin.stop()
    }
    var retry = PushRetry()
    retry.deadline = .seconds(10)
    retry.attempts = 1
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, retry: retry)
    var error: PushError?
    do throws(PushError) { try await pusher.push() } catch let caught { error = caught }
    #expect(error?.description == refusal.map { "127.0.0.1:\(origin.port) answers \($0)" })
  }

  @Test func `pushes at intervals and once more at the end`() async throws {
    let registry = Registry()
    let jobs = try registry.counter("jobs_total", help: "Jobs.")
    let gateway = FakeGateway([200])
    let intervals = EventQueue<Duration>()
    let (ticks, ticking) = AsyncStream.makeStream(of: Void.self)
    try await withEndpoint(routes: [gateway.route]) { port in
      let pusher = try pusher(registry, port: port) { duration in
        intervals.send(duration)
        for await _ in ticks { return }
        throw CancellationError()
      }
      let run = Task { await pusher.run(every: .seconds(15)) }
      #expect(try await intervals.next("the pause between pushes") == .seconds(15))
      ticking.yield()
      #expect(try await intervals.next("the pause between pushes") == .seconds(15))
      #expect(gateway.requests.count == 1)
      jobs.increment()
      run.cancel()
      await run.value
      #expect(gateway.requests.count == 2)
      let last = try #require(gateway.requests.last)
      #expect(String(decoding: last.body, as: UTF8.self).contains("\njobs_total 1"))
    }
  }
}
