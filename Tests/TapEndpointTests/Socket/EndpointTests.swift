import TapEndpoint
import Testing

@Suite(.timeLimit(.minutes(5))) struct EndpointTests {
  private static let ok = HTTPRoute("/ok", immediate: { _ in .text("fine\n") })

  @Test func serves() async throws {
    try await withEndpoint(routes: [Self.ok]) { port in
      let answer = try await RawClient.get("/ok", port: port)
      #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\nDate: "))
      #expect(answer.contains("\r\nContent-Type: text/plain; charset=utf-8\r\n"))
      #expect(answer.contains("\r\nContent-Length: 5\r\n"))
      #expect(answer.hasSuffix("\r\n\r\nfine\n"))
    }
  }

  @Test(arguments: [
    ("GET", "/", "404"), ("GET", "/ok", "200"), ("HEAD", "/ok", "200"), ("POST", "/ok", "405"),
    ("BREW", "/ok", "501"),
    ("OPTIONS", "*", "204"), ("GET", "/tree/a/b", "200"), ("GET", "/tree", "404"),
    ("GET", "/tree/leaf", "201"),
    ("PUT", "/ok", "200"), ("GET", "/throws", "500"),
  ])
  func routes(method: String, path: String, status: String) async throws {
    struct Failure: Error {}
    let routes = [
      Self.ok, HTTPRoute("/ok", methods: ["PUT"], handler: { _ in .text("put") }),
      HTTPRoute("/tree/*", immediate: { .text($0.path) }),
      HTTPRoute("/tree/leaf", immediate: { _ in HTTPResponse(status: 201) }),
      HTTPRoute("/throws", handler: { _ in throw Failure() }),
    ]
    try await withEndpoint(routes: routes) { port in
      let answer = try await RawClient.get(path, port: port, method: method)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      if status == "405" { #expect(answer.contains("\r\nAllow: GET, HEAD, PUT\r\n")) }
    }
  }

  @Test func answersPipelinedRequestsInOrderWhateverTheirHandlers() async throws {
    let routes = [
      HTTPRoute("/now/*", immediate: { .text($0.path + ";") }),
      HTTPRoute(
        "/later/*",
        handler: { request in
          for _ in 0..<20 { await Task.yield() }
          return .text(request.path + ";")
        }),
    ]
    try await withEndpoint(routes: routes) { port in
      let client = try RawClient(port: port)
      let paths = (0..<200).map { $0.isMultiple(of: 3) ? "/later/\($0)" : "/now/\($0)" }
      client.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
      client.endOutput()
      let answer = await client.receiveAll().text
      let bodies = answer.split(separator: "\r\n\r\n").dropFirst().compactMap {
        $0.split(separator: ";").first
      }
      #expect(bodies.map(String.init) == paths)
    }
  }

  @Test func takesRequestsByteByByte() async throws {
    try await withEndpoint(routes: [Self.ok]) { port in
      let client = try RawClient(port: port)
      for byte in "GET /ok HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".utf8 {
        client.send(String(decoding: [byte], as: UTF8.self))
      }
      #expect(await client.receiveAll().text.hasSuffix("fine\n"))
    }
  }

  @Test func sendsBodiesThatAreLargerThanTheSocketTakes() async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 8_000_000)
    let routes = [
      HTTPRoute("/bytes", immediate: { _ in HTTPResponse(body: .bytes(body)) }),
      HTTPRoute(
        "/stream",
        handler: { _ in
          HTTPResponse(
            body: .stream(
              length: body.count,
              { writer in
                for start in stride(from: 0, to: body.count, by: 100_000) {
                  try await writer.write(Array(body[start..<(start + 100_000)]))
                }
              }))
        }),
    ]
    try await withEndpoint(routes: routes) { port in
      for path in ["/bytes", "/stream"] {
        let answer = try await RawClient.get(path, port: port)
        let head = try #require(answer.firstRange(of: "\r\n\r\n"))
        #expect(answer[head.upperBound...].utf8.count == body.count)
      }
    }
  }

  @Test func playsFailures() async throws {
    struct Failure: Error {}
    let routes = [
      HTTPRoute("/reset", handler: { _ in .reset }),
      HTTPRoute(
        "/broken",
        handler: { _ in
          HTTPResponse(
            body: .stream(
              length: nil,
              { writer in
                try await writer.write(Array("part".utf8))
                throw Failure()
              }))
        }), HTTPRoute("/teapot", immediate: { _ in .text("short", status: 418) }),
    ]
    try await withEndpoint(routes: routes) { port in
      for path in ["/reset", "/broken"] {
        let client = try RawClient(port: port)
        client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        let (text, isReset) = await client.receiveAll()
        #expect(isReset)
        #expect(!text.hasSuffix("0\r\n\r\n"))
      }
      #expect(try await RawClient.get("/teapot", port: port).hasPrefix("HTTP/1.1 418 I'm a teapot\r\n"))
    }
  }

  @Test func cancelsTheHandlerWhoseClientIsGone() async throws {
    let (events, continuation) = AsyncStream.makeStream(of: String.self)
    let route = HTTPRoute(
      "/wait",
      handler: { _ in
        await withTaskCancellationHandler {
          continuation.yield("started")
          // Ends with the task alone.
          for await _ in AsyncStream<Never>.makeStream().stream {}
        } onCancel: {
          continuation.yield("cancelled")
        }
        return .text("")
      })
    try await withEndpoint(routes: [route]) { port in
      var events = events.makeAsyncIterator()
      let client = try RawClient(port: port)
      client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(await events.next() == "started")
      client.send("more than the client should send")
      client.reset()
      #expect(await events.next() == "cancelled")
    }
  }

  @Test func closesTheOldestIdleConnectionForANewOne() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.connections = 3
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      let clients = try (0..<3).map { _ in try RawClient(port: port) }
      for client in clients {
        client.send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      }
      #expect(try await RawClient.get("/ok", port: port).hasSuffix("fine\n"))
      #expect(await clients[0].receiveAll().text == "")
      clients[2].send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(await clients[2].receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  /// A crowd that never finishes its heads does not keep newcomers out: its oldest go, however lively.
  @Test func letsANewcomerSpeakAmongSlowSenders() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.connections = 4
    // Nobody goes for any other reason, however slow the machine.
    limits.headDeadline = .seconds(3600)
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      var crowd: [RawClient] = []
      for _ in 0..<4 {
        let client = try RawClient(port: port)
        client.send("GET /ok HTTP/1.1\r\nHost: h\r\nX: ")
        crowd.append(client)
      }
      let newcomer = try RawClient(port: port)
      #expect(await crowd[0].receiveAll().text == "")
      for client in crowd.dropFirst() { client.send("x") }
      let next = try RawClient(port: port)
      #expect(await crowd[1].receiveAll().text == "")
      newcomer.send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(await newcomer.receive(until: "fine\n").hasSuffix("fine\n"))
      next.send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(await next.receive(until: "fine\n").hasSuffix("fine\n"))
    }
  }

  @Test func refusesMoreRequestsThanItAnswersAtOnce() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.requestsInFlight = 1
    let (started, continuation) = AsyncStream.makeStream(of: Void.self)
    let route = HTTPRoute(
      "/wait",
      handler: { _ in
        continuation.yield()
        for await _ in AsyncStream<Never>.makeStream().stream {}
        return .text("")
      })
    try await withEndpoint(routes: [route], limits: limits) { port in
      let client = try RawClient(port: port)
      client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
      for await _ in started { break }
      #expect(try await RawClient.get("/wait", port: port).hasPrefix("HTTP/1.1 503 "))
    }
  }

  // MARK: Deadlines on a real clock: how late they are is not asserted

  @Test func answersASlowHeadWith408() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.headDeadline = .milliseconds(50)
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      let client = try RawClient(port: port)
      client.send("GET /ok HT")
      #expect(await client.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 408 "))
    }
  }

  @Test func closesAnIdleConnection() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.idleDeadline = .milliseconds(50)
    try await withEndpoint(routes: [Self.ok], limits: limits) { port in
      let (text, isReset) = try await RawClient(port: port).receiveAll()
      #expect(text == "")
      #expect(!isReset)
    }
  }

  @Test func resetsAReaderThatDoesNotRead() async throws {
    var limits = Endpoint.Configuration.Limits()
    limits.writeDeadline = .milliseconds(50)
    let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
    let route = HTTPRoute(
      "/endless",
      handler: { _ in
        HTTPResponse(
          body: .stream(
            length: nil,
            { writer in
              defer { continuation.yield() }
              while true { try await writer.write([UInt8](repeating: 0, count: 65_536)) }
            }))
      })
    try await withEndpoint(routes: [route], limits: limits) { port in
      let client = try RawClient(port: port, receiveBuffer: 4096)
      client.send("GET /endless HTTP/1.1\r\nHost: h\r\n\r\n")
      for await _ in ended { break }
      #expect(await client.receiveAll().isReset)
    }
  }

  // MARK: Start and shutdown

  @Test func namesAnAddressThatIsInUse() async throws {
    try await withEndpoint(routes: []) { port in
      let error = #expect(throws: EndpointError.self) {
        try Endpoint(configuration: .init(address: .loopback(port: port)), routes: []).start()
      }
      #expect(error?.code == .addressInUse)
      #expect(error?.description.hasPrefix("address in use: 127.0.0.1:\(port) (") == true)
    }
  }

  @Test(arguments: [
    (EndpointAddress.tcp(host: "192.0.2.1", port: 0), EndpointError.Code.addressNotAvailable),
    (.tcp(host: "no host", port: 0), .addressNotAvailable), (.loopback(port: 70_000), .invalidConfiguration),
    (.loopback(port: -1), .invalidConfiguration),
  ])
  func namesAnAddressThatIsNoneOfOurs(address: EndpointAddress, code: EndpointError.Code) {
    let error = #expect(throws: EndpointError.self) {
      try Endpoint(configuration: .init(address: address), routes: []).start()
    }
    #expect(error?.code == code)
    #expect(error?.description.contains("(") == true)
  }

  @Test func namesALimitOutOfRange() {
    var configuration = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.limits.connections = 0
    let error = #expect(throws: EndpointError.self) {
      try Endpoint(configuration: configuration, routes: []).start()
    }
    #expect(error?.description == "invalid limit: connections is 0 and must be at least 1")
  }

  @Test func startsOnceAtATime() async throws {
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [])
    try endpoint.start()
    let error = #expect(throws: EndpointError.self) { try endpoint.start() }
    #expect(error?.code == .alreadyRunning)
    await endpoint.shutdown()
    #expect(endpoint.address == nil)
    await endpoint.shutdown()
  }

  @Test func startsAgainOnTheSamePort() async throws {
    var port = 0
    for _ in 0..<5 {
      let endpoint = Endpoint(configuration: .init(address: .loopback(port: port)), routes: [Self.ok])
      port = try #require(try endpoint.start().port)
      let client = try RawClient(port: port)
      client.send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      await endpoint.shutdown()
      #expect((try? RawClient(port: port)) == nil)
    }
  }

  @Test func letsARequestFinishBeforeItShutsDown() async throws {
    let (started, starting) = AsyncStream.makeStream(of: Void.self)
    let (release, releasing) = AsyncStream.makeStream(of: Void.self)
    let route = HTTPRoute(
      "/slow",
      handler: { _ in
        starting.yield()
        for await _ in release { break }
        return .text("done")
      })
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [route])
    let port = try #require(try endpoint.start().port)
    let client = try RawClient(port: port)
    client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    for await _ in started { break }
    async let shutdown: Void = endpoint.shutdown(within: .seconds(60))
    // Nobody new is let in from some moment on.
    while (try? RawClient(port: port)) != nil { await Task.yield() }
    releasing.yield()
    let answer = await client.receiveAll().text
    #expect(answer.contains("\r\nConnection: close\r\n"))
    #expect(answer.hasSuffix("done"))
    client.reset()
    await shutdown
  }

  @Test func doesNotWaitForARequestThatDoesNotFinish() async throws {
    let (started, starting) = AsyncStream.makeStream(of: Void.self)
    let route = HTTPRoute(
      "/stuck",
      handler: { _ in
        starting.yield()
        for await _ in AsyncStream<Never>.makeStream().stream {}
        return .text("")
      })
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [route])
    let port = try #require(try endpoint.start().port)
    let client = try RawClient(port: port)
    client.send("GET /stuck HTTP/1.1\r\nHost: h\r\n\r\n")
    for await _ in started { break }
    await endpoint.shutdown(within: .milliseconds(10))
    #expect(await client.receiveAll().isReset)
  }

  @Test func endsWhenNobodyHoldsIt() async throws {
    var endpoint: Endpoint? = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [Self.ok])
    let port = try #require(try endpoint?.start().port)
    let client = try RawClient(port: port)
    client.send("GET /ok HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
    endpoint = nil
    #expect(await client.receiveAll().text == "")
  }
}
