import TapEndpoint
import TestSupport

@Suite(.needs(.thread)) struct TortureTests {
  @Test func `bears every probe`() async throws { try await bears(TortureProbe.all) }

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

  let name: String
  let steps: [Step]
  /// The status codes of all answers until the server closes; `nil` if they are not read.
  let statuses: [Int]?

  init(_ name: String, _ steps: [Step], _ statuses: [Int]?) {
    (self.name, self.steps, self.statuses) = (name, steps, statuses)
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

  static let all = invalid + whole + parts + departures

  /// RFC 9112, section 11.2: the request behind what is refused must never be answered, be it inside of a
  /// body.
  private static let invalid = RequestParserTests.invalid.map { invalid in
    TortureProbe(String(reflecting: invalid.text.prefix(80)), invalid.text + ok, [invalid.status])
  }

  private static let whole: [TortureProbe] = [
    .init("request in the body of a GET", get("Content-Length: \(ok.utf8.count)\r\n") + ok, [413]),
    .init("request behind a request that closes", last + ok, [200]),
    .init("way out of the root", get("", "/../../etc/passwd"), [404]),
    .init("endless target", "GET /" + String(repeating: "a", count: 200_000), [414]),
    .init("large body", post("Content-Length: 70000", String(repeating: "x", count: 70_000)), [413]),
    .init(
      "endless chunks", post("Transfer-Encoding: chunked", String(repeating: "1\r\nx\r\n", count: 20_000)),
      [400]), .init("SSH", "SSH-2.0-OpenSSH_9.2p1\r\n", [400]),
    .init("upgrade to h2c", get("Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"), [200]),
  ]

  /// Those that are answered when a deadline has passed.
  static let slowness: [TortureProbe] = [
    .init("silence", [], []), .init("half a head", [.send("GET /healthz HT")], [408]),
    .init("answers that are not read", [.send(String(repeating: large, count: 60)), .leave], nil),
  ]

  private static let parts: [TortureProbe] = [
    .init("half-close within a head", [.send("GET / HT"), .endOutput], [400]),
    .init("half-close at once", [.endOutput], []), .init("byte by byte", [.trickle(last)], [200]),
    .init(
      "two thousand requests", String(repeating: ok, count: 1999) + last, [Int](repeating: 200, count: 2000)),
    .init("a bad one among good ones", ok + ok + "bad\r\n" + ok, [200, 200, 400]),
    .init(
      "HEAD between GETs", ok + "HEAD /large HTTP/1.1\r\nHost: localhost\r\n\r\n" + last, [200, 200, 200]),
    .init("slow handlers between quick ones", ok + later + ok + last, [200, 200, 200, 200]),
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
