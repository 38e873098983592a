import TapEndpoint
import TestSupport

/// Who has to go where there is no room for another connection, and who goes by itself.
@Suite struct RoomTests {
  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }

  @Test func `a newcomer is refused where each connection has a handler that works`() async throws {
    let (started, release) = (Gate(), Gate())
    defer { release.open() }
    let slow = EndpointRoute.onThreads("/slow") { _ in
      started.open()
      release.waitBlocking()
      return .text("done\n")
    }
    try await withEndpoint(routes: [slow], limits: { $0.connections = 1 }) { port in
      let answering = try RawClient(port: port, asking: "/slow")
      try await started.wait("the handler")
      // The reset may come before it knows that it is connected.
      let newcomer = try? RawClient(port: port)
      let isReset = await newcomer?.receiveAll().isReset
      #expect(isReset != false)
      release.open()
      #expect(await answering.receive(until: "done\n").hasSuffix("done\n"))
    }
  }

  @Test func `a slow reader that goes for another learns that its answer is not whole`() async throws {
    let large = [UInt8](repeating: 0, count: 16_000_000)
    let route = EndpointRoute.immediate("/large") { _ in EndpointResponse(body: large) }
    try await withEndpoint(
      routes: [Self.ok, route], limits: { ($0.connections, $0.writeTimeout) = (1, .seconds(3_600)) }
    ) { port in
      let reader = try RawClient(port: port, receiveBuffer: 4096, asking: "/large")
      #expect(await reader.receive(until: "HTTP/1.1 ").hasPrefix("HTTP/1.1 "))
      #expect(try await RawClient.get("/ok", port: port).hasSuffix("fine\n"))
      try await Poll.until("the end of the connection") { reader.hasFailed }
      #expect(await reader.receiveAll().isReset)
    }
  }

  @Test(.timeLimit(.minutes(1))) func `a connection that never says anything is closed`() async throws {
    try await withEndpoint(routes: [], limits: { $0.idleTimeout = .milliseconds(50) }) { port in
      let client = try RawClient(port: port)
      let end = await client.receiveAll()
      #expect(end.text == "" && !end.isReset)
    }
  }

  /// In time, whatever the deadlines of others.
  @Test func `each request has a deadline of its own`() async throws {
    let stuck = EndpointRoute("/stuck", .deferred { _, _ in return {} })
    let change: (inout Endpoint.Configuration.Limits) -> Void = {
      ($0.answerTimeout, $0.idleTimeout) = (.seconds(3_600), .seconds(3_600))
    }
    try await withEndpoint(routes: [stuck], limits: change) { port in
      let clients = try ["3600", "0.4", "0.06"].map { timeout in
        let client = try RawClient(port: port)
        let field = "X-Prometheus-Scrape-Timeout-Seconds: \(timeout)"
        client.send("GET /stuck HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
        return client
      }
      for client in clients.dropFirst() {
        let answer = await client.receive(until: "too long\n")
        #expect(answer.hasSuffix("503 Service Unavailable: the answer took too long\n"))
      }
      withExtendedLifetime(clients) {}
    }
  }

  /// What waits behind its request is more than is read meanwhile.
  @Test func `a client that has gone is noticed though nothing is read from it`() async throws {
    let (started, cancelled) = (Gate(), Gate())
    let stuck = EndpointRoute(
      "/stuck",
      .deferred { _, _ in
        started.open()
        return { cancelled.open() }
      })
    try await withEndpoint(routes: [stuck], limits: { $0.answerTimeout = .seconds(3_600) }) { port in
      let client = try RawClient(port: port, asking: "/stuck")
      try await started.wait("the handler")
      let request = "GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n"
      await client.sendAll(Array(String(repeating: request, count: 1_000).utf8))
      client.reset()
      try await cancelled.wait("the cancel")
    }
  }
}
