import TapEndpoint
import TestSupport
import Testing

/// Deadlines on a real clock. How late they are is not asserted.
@Suite struct EndpointDeadlineTests {
  private static let ok = EndpointRoute("/ok", immediate: { _ in .text("fine\n") })

  @Test func `answers a slow head with 408`() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.headDeadline = .milliseconds(50)
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      let client = try RawClient(port: port)
      client.send("GET /ok HT")
      #expect(await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test func `closes an idle connection`() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.idleDeadline = .milliseconds(50)
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      let (text, isReset) = try await RawClient(port: port).receiveAll()
      #expect(text == "")
      #expect(!isReset)
    }
  }

  @Test func `resets a reader that does not read`() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.writeDeadline = .milliseconds(50)
    let large = [UInt8](repeating: 0, count: 16_000_000)
    let route = EndpointRoute("/large", immediate: { _ in EndpointResponse(body: large) })
    try await withEndpoint(routes: [route], limits: limits) { port in
      let client = try RawClient(port: port, receiveBuffer: 4096)
      client.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
      _ = try await Poll.until("the end of the connection") { client.hasFailed ? true : nil }
      #expect(await client.receiveAll().isReset)
    }
  }
}
