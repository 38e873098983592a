import TapEndpoint
import TestSupport

@Suite struct EndpointTests {
  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }

  @Test(arguments: [
    ("GET", "/", "404"), ("GET", "/ok", "200"), ("HEAD", "/ok", "200"), ("POST", "/ok", "405"),
    ("BREW", "/ok", "501"), ("OPTIONS", "*", "204"), ("GET", "/tree/a/b", "200"), ("GET", "/tree", "404"),
    ("GET", "/tree/leaf", "201"), ("PUT", "/ok", "200"), ("GET", "/throws", "500"),
  ])
  func `routes`(method: String, path: String, status: String) async throws {
    struct Failure: Error {}
    let routes = [
      Self.ok, EndpointRoute("/ok", methods: ["PUT"], handler: { _ in .text("put") }),
      EndpointRoute.immediate("/tree/*") { .text($0.path) },
      EndpointRoute.immediate("/tree/leaf") { _ in EndpointResponse(status: 201) },
      EndpointRoute("/throws", handler: { _ in throw Failure() }),
    ]
    try await withEndpoint(routes: routes) { port in
      let answer = try await RawClient.get(path, port: port, method: method)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      if status == "405" { #expect(answer.contains("\r\nAllow: GET, HEAD, PUT\r\n")) }
    }
  }

  @Test func `answers pipelined requests in order whatever their handlers`() async throws {
    let routes = [
      EndpointRoute.immediate("/now/*") { .text($0.path + ";") },
      EndpointRoute("/later/*") { request in
        for _ in 0..<20 { await Task.yield() }
        return .text(request.path + ";")
      },
    ]
    try await withEndpoint(routes: routes) { port in
      let client = try RawClient(port: port)
      let paths = (0..<200).map { $0.isMultiple(of: 3) ? "/later/\($0)" : "/now/\($0)" }
      client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
      client.endOutput()
      let answer = await client.receiveAll().text
      let bodies = answer.split(separator: "\r\n\r\n").dropFirst().map { $0.prefix { $0 != ";" } }
      #expect(bodies.map(String.init) == paths)
    }
  }

  @Test func `sends bodies that are larger than the socket takes`() async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8_000_000)
    let route = EndpointRoute.immediate("/bytes") { _ in EndpointResponse(body: body) }
    try await withEndpoint(routes: [route]) { port in
      let answer = try await RawClient.get("/bytes", port: port)
      let head = try #require(answer.firstRange(of: "\r\n\r\n"))
      #expect(answer[head.upperBound...].utf8.count == body.count)
    }
  }

  @Test func `resets a reader that does not read`() async throws {
    let large = [UInt8](repeating: 0, count: 16_000_000)
    let route = EndpointRoute.immediate("/large") { _ in EndpointResponse(body: large) }
    try await withEndpoint(routes: [route], limits: { $0.writeDeadline = .milliseconds(50) }) { port in
      let client = try RawClient(port: port, receiveBuffer: 4096, asking: "/large")
      try await Poll.until("the end of the connection") { client.hasFailed }
      #expect(await client.receiveAll().isReset)
    }
  }

  @Test func `plays failures`() async throws {
    let routes = [
      EndpointRoute("/reset", handler: { _ in .reset }),
      EndpointRoute.immediate("/teapot") { _ in .text("short", status: 418) },
    ]
    try await withEndpoint(routes: routes) { port in
      let client = try RawClient(port: port, asking: "/reset")
      let (text, isReset) = await client.receiveAll()
      #expect(isReset)
      #expect(text.isEmpty)
      #expect(try await RawClient.get("/teapot", port: port).hasPrefix("HTTP/1.1 418 I'm a teapot\r\n"))
    }
  }

  @Test func `closes the oldest idle connection for a new one`() async throws {
    try await withEndpoint(routes: [Self.ok], limits: { $0.connections = 3 }) { port in
      let clients = try (0..<3).map { _ in try RawClient(port: port) }
      for client in clients {
        client.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      }
      #expect(try await RawClient.get("/ok", port: port).hasSuffix("fine\n"))
      #expect(await clients[0].receiveAll().text == "")
      clients[2].send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await clients[2].receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  /// A crowd that never finishes its heads does not keep newcomers out: its oldest go, however lively.
  @Test func `lets a newcomer speak among slow senders`() async throws {
    // No connection is closed for any other reason, however slow the machine is.
    try await withEndpoint(
      routes: [Self.ok], limits: { ($0.connections, $0.headDeadline) = (4, .seconds(3600)) }
    ) { port in
      var crowd: [RawClient] = []
      for _ in 0..<4 {
        let client = try RawClient(port: port)
        client.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ")
        crowd.append(client)
      }
      let newcomer = try RawClient(port: port)
      #expect(await crowd[0].receiveAll().text == "")
      for client in crowd.dropFirst() { client.send("x") }
      let next = try RawClient(port: port)
      #expect(await crowd[1].receiveAll().text == "")
      newcomer.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await newcomer.receive(until: "fine\n").hasSuffix("fine\n"))
      next.send("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await next.receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  /// Idle ones first, then slow senders; never one whose request is being answered.
  @Test func `closes no connection whose handler works`() async throws {
    let (started, release) = (Gate(), Gate())
    let slow = EndpointRoute("/slow") { _ in
      started.open()
      try await release.wait()
      return .text("done\n")
    }
    try await withEndpoint(
      routes: [Self.ok, slow], limits: { ($0.connections, $0.headDeadline) = (4, .seconds(3600)) }
    ) { port in
      let answering = try RawClient(port: port, asking: "/slow")
      try await started.wait("the handler")
      let sender = try RawClient(port: port)
      sender.send("GET /ok HTTP/1.1\r\nHost: localhost\r\nX: ")
      var idle: [RawClient] = []
      for _ in 0..<2 {
        let client = try RawClient(port: port, asking: "/ok")
        #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
        idle.append(client)
      }
      var new: [RawClient] = []
      for closed in idle + [sender] {
        new.append(try RawClient(port: port))
        #expect(await closed.receiveAll().text == "")
      }
      release.open()
      #expect(await answering.receive(until: "done\n").hasSuffix("done\n"))
      withExtendedLifetime(new) {}
    }
  }
}
