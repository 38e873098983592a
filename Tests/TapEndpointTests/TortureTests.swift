import TapEndpoint
import TestSupport

@Suite(.needs(.thread)) struct TortureTests {
  @Test func `bears every probe`() async throws {
    #expect(TortureProbe.all.count >= 60)
    try await bears(TortureProbe.all)
  }

  @Test func `bears slowness`() async throws {
    try await bears(TortureProbe.slowness) {
      let short = Duration.milliseconds(250)
      ($0.headTimeout, $0.writeTimeout) = (short, short)
      // A client of ours must not be taken for an idle one because the machine is busy.
      $0.idleTimeout = .seconds(2)
    }
  }

  /// Runs the probes against one endpoint, so that damage would add up, with a normal request after each.
  private func bears(
    _ probes: [TortureProbe], limits: (inout Endpoint.Configuration.Limits) -> Void = { _ in }
  ) async throws {
    let large = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
    let routes = [
      EndpointRoute.liveness(), EndpointRoute.immediate("/large") { _ in EndpointResponse(body: large) },
      EndpointRoute.onThreads("/later") { _ in .text("late") },
    ]
    try await withEndpoint(routes: routes, limits: limits) { port in
      for probe in probes {
        let statuses = try await run(probe, port: port)
        if let expected = probe.statuses { #expect(statuses == expected, "\(probe.name)") }
        #expect(try await RawClient.status("/healthz", port: port) == "200", "after \(probe.name)")
      }
    }
  }

  private func run(_ probe: TortureProbe, port: Int) async throws -> [Int] {
    let client = try RawClient(port: port)
    var received = ""
    for step in probe.steps {
      switch step {
      case .send(let text): await client.sendAll(Array(text.utf8))
      case .sendBytes(let bytes): await client.sendAll(bytes)
      case .trickle(let text): for byte in text.utf8 { await client.sendAll([byte]) }
      case .endOutput: client.endOutput()
      case .reset:
        client.reset()
        return []
      case .leave: return []
      case .receive(let answers): received += await client.receive(until: "\r\n\r\n", times: answers)
      }
    }
    received += await client.receiveAll().text
    return received.split(separator: "HTTP/1.1 ", omittingEmptySubsequences: false).dropFirst().compactMap {
      Int($0.prefix(3))
    }
  }
}

/// One thing that a hostile or broken client does, and the statuses that it is answered with.
struct TortureProbe: Sendable {
  enum Step: Sendable {
    case send(String)
    case sendBytes([UInt8])
    /// One byte a segment.
    case trickle(String)
    case endOutput
    /// Closes with a reset, and ends the probe.
    case reset
    /// Goes away without reading.
    case leave
    /// Reads until that many heads of answers have come.
    case receive(answers: Int)
  }

  var name: String
  var steps: [Step]
  /// The status codes of all answers until the server closes; `nil` if they are not read.
  var statuses: [Int]?

  init(_ name: String, _ steps: [Step], _ statuses: [Int]?) {
    self.name = name
    self.steps = steps
    self.statuses = statuses
  }

  /// Sends a text and reads to the end.
  init(_ name: String, _ text: String, _ statuses: [Int]) { self.init(name, [.send(text)], statuses) }
}

extension TortureProbe {
  private static let ok = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
  private static let large = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
  private static let later = "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"
  private static let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

  private static func get(_ fields: String, _ target: String = "/healthz") -> String {
    "GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n"
  }

  private static func post(_ fields: String, _ body: String = "") -> String {
    "POST /healthz HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n\(body)"
  }

  static let all = invalid + whole + halves + pipelining + otherProtocols + departures

  /// RFC 9112, section 11.2: the request behind what is refused must never be answered, be it inside of a
  /// body.
  private static let invalid = RequestParserTests.invalid.map { invalid in
    TortureProbe(String(reflecting: invalid.text.prefix(80)), invalid.text + ok, [invalid.status])
  }

  private static let whole: [TortureProbe] = [
    .init("request in the body of a GET", get("Content-Length: \(ok.utf8.count)\r\n") + ok, [413]),
    .init("request behind a request that closes", last + ok, [200]),
    .init("absolute target", get("", "http://elsewhere/healthz"), [200]),
    .init("way out of the root", get("", "/../../etc/passwd"), [404]),
    .init("encoded way out", get("", "/%2e%2e/%2e%2e/etc/passwd"), [404]),
    .init("endless target", "GET /" + String(repeating: "a", count: 200_000), [414]),
    .init("large body", post("Content-Length: 70000", String(repeating: "x", count: 70_000)), [413]),
    .init(
      "endless chunks",
      post(
        "Transfer-Encoding: chunked",
        String(repeating: "1000\r\n" + String(repeating: "x", count: 4096) + "\r\n", count: 20)), [400]),
    .init("expectation and its body", post("Expect: 100-continue\r\nContent-Length: 1", "x"), [413]),
    .init("HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n", [200]),
  ]

  /// Those that are answered when a deadline has passed.
  static let slowness: [TortureProbe] = [
    .init("silence", [], []), .init("half a head", [.send("GET /healthz HT")], [408]),
    .init("head without its end", [.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n")], [408]),
    .init("an empty line", [.send("\r\n")], [408]),
    .init("answers that are not read", [.send(String(repeating: large, count: 60)), .leave], nil),
  ]

  private static let halves: [TortureProbe] = [
    .init("half-close behind a request", [.send(ok), .endOutput], [200]),
    .init("half-close within a head", [.send("GET / HT"), .endOutput], [400]),
    .init("half-close within a body", [.send(post("Content-Length: 10", "hello")), .endOutput], [413]),
    .init("half-close at once", [.endOutput], []),
  ]

  private static let pipelining: [TortureProbe] = [
    .init("byte by byte", [.trickle(last)], [200]),
    .init("byte by byte, a body", [.trickle(post("Connection: close\r\nContent-Length: 2", "hi"))], [413]),
    .init(
      "two thousand requests", String(repeating: ok, count: 1999) + last, [Int](repeating: 200, count: 2000)),
    .init("a bad one among good ones", ok + ok + "bad\r\n" + ok, [200, 200, 400]),
    .init(
      "HEAD between GETs", ok + "HEAD /large HTTP/1.1\r\nHost: localhost\r\n\r\n" + last, [200, 200, 200]),
    .init("POSTs between", post("Content-Length: 0") + post("X: y") + last, [405, 405, 200]),
    .init("slow handlers between quick ones", ok + later + ok + last, [200, 200, 200, 200]),
    .init("empty lines between requests", ok + "\r\n\r\n" + last, [200, 200]),
  ]

  private static let otherProtocols: [TortureProbe] = [
    .init(
      "TLS",
      [
        .sendBytes(
          [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]
            + [UInt8](repeating: 0xAB, count: 500))
      ], [400]),
    .init("upgrade to h2c", get("Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"), [200]),
    .init("upgrade to WebSocket", get("Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"), [200]),
    .init("SSH", "SSH-2.0-OpenSSH_9.2p1\r\n", [400]), .init("SMTP", "EHLO example.com\r\n", [400]),
    .init("Redis", "*1\r\n$4\r\nPING\r\n", [400]), .init("memcached", "stats\r\n", [400]),
    .init("PROXY", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + ok, [400]),
    .init("noise", [.sendBytes((0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 7919 &+ 128) })], [400]),
  ]

  private static let departures: [TortureProbe] = [
    .init("reset at once", [.reset], nil), .init("reset within a head", [.send("GET / HT"), .reset], nil),
    .init("reset behind a request", [.send(ok), .reset], nil),
    .init("reset behind many requests", [.send(String(repeating: ok, count: 1000)), .reset], nil),
    .init("reset within an answer", [.send(large), .receive(answers: 1), .reset], nil),
    .init("reset while the handler works", [.send(later), .reset], nil),
    .init("end within an answer", [.send(large), .leave], nil),
  ]
}
