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
