import TapEndpoint
import Testing

@Suite struct TortureTests {
  @Test func bearsEveryProbe() async throws {
    #expect(TortureProbe.all.count >= 60)
    try await bears(TortureProbe.all, limits: .init())
  }

  @Test func bearsSlowness() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.headDeadline = .milliseconds(250)
    limits.bodyDeadline = .milliseconds(250)
    limits.idleDeadline = .milliseconds(250)
    limits.writeDeadline = .milliseconds(250)
    try await bears(TortureProbe.slowness, limits: limits)
  }

  /// Runs the probes against one endpoint, so that damage would add up, with a normal request after each.
  private func bears(_ probes: [TortureProbe], limits: Endpoint.Configuration.Limits) async throws {
    let large = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
    let routes = [
      HTTPRoute.liveness(), HTTPRoute("/large", immediate: { _ in HTTPResponse(body: .bytes(large)) }),
      HTTPRoute(
        "/later",
        handler: { _ in
          for _ in 0..<100 { await Task.yield() }
          return .text("late")
        }),
    ]
    try await withEndpoint(routes: routes, limits: limits) { port in
      for probe in probes {
        let statuses = try await run(probe, port: port)
        if let expected = probe.statuses { #expect(statuses == expected, "\(probe.name)") }
        let client = try RawClient(port: port, deadline: 2)
        client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        let answer = await client.receive(until: "ok\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 "), "after \(probe.name)")
      }
    }
  }

  /// - Returns: the status codes of the answers.
  private func run(_ probe: TortureProbe, port: Int) async throws -> [Int] {
    let client = try RawClient(port: port)
    var received = ""
    for step in probe.steps {
      switch step {
      case .send(let text): await client.sendAll(Array(text.utf8))
      case .sendBytes(let bytes): await client.sendAll(bytes)
      case .trickle(let text):
        for byte in text.utf8 { await client.sendAll([byte]) }
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
