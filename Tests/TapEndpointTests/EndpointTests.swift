import TapEndpoint
import TestSupport

/// The start and the end of an endpoint.
@Suite(.serialized) struct EndpointTests {
  private typealias Limits = Endpoint.Configuration.Limits

  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }

  /// An address of this machine's that nobody listens at but these tests of this process, one after the
  /// other: a port that was given up there stays free, while one of 127.0.0.1 may be another test's at once.
  private static let host = "127.77.\(getpid() >> 8 & 255).\(getpid() & 255)"

  private static func endpoint(
    _ routes: [EndpointRoute] = [ok], port: Int = 0, _ change: (inout Limits) -> Void = { _ in }
  ) -> Endpoint {
    var configuration = Endpoint.Configuration(address: .tcp(host: host, port: port))
    change(&configuration.limits)
    return Endpoint(configuration: configuration, routes: routes)
  }

  /// Whether nobody listens any more. A process that another test starts has all descriptors of this one for
  /// a moment, until it is another program: so a socket that was closed may be open a little longer. One that
  /// is left open stays so.
  private static func isFree(_ port: Int) async -> Bool {
    (try? await Poll.until("the port to be free") { (try? RawClient(host: host, port: port)) == nil }) != nil
  }

  // MARK: The start

  @Test func `says why it does not start`() async throws {
    func error(
      _ host: String = "127.0.0.1", _ port: Int = 0,
      _ change: (inout Endpoint.Configuration) -> Void = { _ in }
    ) -> String {
      let error = startError(at: .tcp(host: host, port: port), change)
      return error.map { "\($0.code == .invalidConfiguration ? "invalid " : "")\($0)" } ?? ""
    }
    let unknown = "(use an address of this machine, such as 127.0.0.1)"
    let advice = "(a name without a port, such as metrics.example.com)"
    let hosts = ["", "a:80", "http://a", "*.example.com", "a b"]
    var errors = [
      error("192.0.2.1"), error("no host"), error("127.0.0.1\u{0}x"), error("127.0.0.1", -1),
      error("127.0.0.1", 65_536),
    ]
    errors += hosts.map { host in error { $0.access.allowedHosts = [host] } }
    var expected = [
      "address not available: 192.0.2.1:0 (use an address of this machine)",
      "unknown host: no host \(unknown)", "unknown host: 127.0.0.1\u{0}x \(unknown)",
      "invalid invalid port: -1 (choose one of 1 to 65535, or 0 for a free one)",
      "invalid invalid port: 65536 (choose one of 1 to 65535, or 0 for a free one)",
    ]
    expected += hosts.map { "invalid invalid allowed host: \($0) \(advice)" }
    expectEqual(errors, expected)
    try await withEndpoint(routes: []) { port in
      let error = startError(at: .loopback(port: port))
      #expect(error?.code == .addressInUse)
      #expect(error?.description.hasPrefix("address in use: 127.0.0.1:\(port) (") == true)
    }
  }

  @Test func `names a limit out of range`() async throws {
    func error(_ change: (inout Limits) -> Void) -> String? {
      startError { change(&$0.limits) }.map { "\($0.code == .invalidConfiguration) \($0)" }
    }
    let text = "is 0 and must be at least 1"
    #expect(error { $0.connections = 0 } == "true invalid limit: connections \(text)")
    #expect(error { $0.requestsInFlight = 0 } == "true invalid limit: requestsInFlight \(text)")
    for value in [Duration.zero, .nanoseconds(999_999), .seconds(86_401)] {
      let text = "true invalid limit: answerTimeout is \(value) and must be between 1 ms and a day"
      expectEqual(error { $0.answerTimeout = value }, text)
    }
    for timeout in [Duration.milliseconds(1), .seconds(86_400)] {
      let endpoint = Self.endpoint {
        ($0.connections, $0.requestsInFlight, $0.answerTimeout) = (1, 1, timeout)
      }
      try endpoint.start()
      await endpoint.shutdown(within: .zero)
    }
  }

  @Test func `listens to the network only if told`() async throws {
    let address = EndpointAddress.tcp(host: "0.0.0.0", port: 0)
    let error = startError(at: address)
    #expect(error?.code == .accessNotRestricted)
    let remedy =
      "listen on 127.0.0.1, set a file with credentials, or set "
      + "allowsAnyoneFromNetwork or SESSION_TAP_ALLOW_NETWORK=1"
    let text = error?.description ?? ""
    #expect(text.hasPrefix("anybody could read: 0.0.0.0:") && text.hasSuffix(" (\(remedy))"))
    let folder = try TemporaryFolder()
    let token = try folder.write("token", to: "tokens")
    let restricted = with(Endpoint.Configuration(address: address)) { $0.access.bearerTokenFile = token }
    let other = Endpoint(configuration: restricted, routes: [])
    try other.start()
    await other.shutdown(within: .zero)
    let open = with(Endpoint.Configuration(address: address)) { $0.access.allowsAnyoneFromNetwork = true }
    let endpoint = Endpoint(configuration: open, routes: [.liveness()])
    let port = try endpoint.start().port
    #expect(try await RawClient.get("/healthz", port: port).hasSuffix("ok\n"))
    // Others reach it by any name.
    #expect(try await RawClient.status("/logs", port: port, host: "app.example") == "404")
    await endpoint.shutdown(within: .zero)
  }

  @Test func `knows the loopback, and addresses in brackets`() async {
    let local = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"]
    let others = ["0.0.0.0", "::", "10.1.2.3", "fe80::1%eth0", "::ffff:10.1.2.3", "::1:2", "128.0.0.1"]
    let reachable = (local + others).filter { EndpointAddress.tcp(host: $0, port: 1).isReachableFromNetwork }
    #expect(reachable == others)
    let addresses = ["[::1]", "::1", "[a]", "a"].map { EndpointAddress.tcp(host: $0, port: 1).description }
    #expect(addresses == ["[::1]:1", "[::1]:1", "[a]:1", "a:1"])
    #expect(Endpoint.Configuration().address == .tcp(host: "127.0.0.1", port: 9464))
    let endpoint = Endpoint(configuration: .init(address: .tcp(host: "[::1]", port: 0)), routes: [])
    do throws(EndpointError) {
      let address = try endpoint.start()
      #expect(address.host == "::1")
    } catch {
      // A machine without IPv6. The address is not the matter.
      #expect(error.description.contains("[::1]") && !error.description.contains("unknown host"))
    }
    await endpoint.shutdown()
  }

  /// What an endpoint without a tap serves.
  @Test func `serves a registry, and says that it is alive`() async throws {
    let registry = Registry()
    let endpoint = try Endpoint(
      configuration: .init(address: .loopback(port: 0)), registry: registry)
    let port = try endpoint.start().port
    #expect(try await RawClient.get("/healthz", port: port).hasSuffix("\r\n\r\nok\n"))
    let fields = "Accept: application/openmetrics-text\r\n"
    let metrics = try await RawClient.get("/metrics", port: port, fields: fields)
    #expect(metrics.contains("\nsession_tap_scrapes_in_flight 1"))
    #expect(throws: RegistryError.self) { try registry.gauge("session_tap_overdue_handlers", help: "") }
    // Another one has the same metrics.
    #expect(throws: RegistryError.self) { try Endpoint(registry: registry) }
    await endpoint.shutdown()
  }

  // MARK: The end

  @Test func `all shutdowns wait until the port is free, on which it may start again`() async throws {
    var last = 0
    for _ in 0..<50 {
      let endpoint = Self.endpoint(port: last)
      let port = try endpoint.start().port
      last = port
      let client = try RawClient(host: Self.host, port: port, asking: "/ok")
      #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            await endpoint.shutdown()
            #expect(await Self.isFree(port))
          }
        }
      }
      let end = await client.receiveAll()
      #expect(end == ("", false))
    }
  }

  @Test func `runs once at a time, and lets a request finish before it shuts down`() async throws {
    let (started, release) = (Gate(), Gate())
    let route = EndpointRoute.onThreads("/slow") { _ in
      started.open()
      release.waitBlocking()
      return .text("done")
    }
    let endpoint = Self.endpoint([route])
    let port = try endpoint.start().port
    let client = try RawClient(host: Self.host, port: port, asking: "/slow")
    try await started.wait("the handler")
    func expectRunning() {
      let error = #expect(throws: EndpointError.self) { try endpoint.start() }
      #expect(error?.code == .alreadyRunning)
      #expect(error?.description == "already running: shut the endpoint down before it starts again")
    }
    expectRunning()
    async let shutdown: Void = endpoint.shutdown(within: .seconds(60))
    #expect(await Self.isFree(port))
    #expect(endpoint.address == nil)
    expectRunning()
    release.open()
    let answer = await client.receiveAll().text
    #expect(answer.contains("\r\nConnection: close\r\n") && answer.hasSuffix("done"))
    client.reset()
    await shutdown
    await endpoint.shutdown()
  }

  @Test(arguments: [
    [Duration.milliseconds(10)], [.seconds(3_600), .zero], [.milliseconds(500), .seconds(3_600)],
  ])
  func `does not wait for a request that does not finish, after the earliest of several deadlines`(
    times: [Duration]
  ) async throws {
    let started = Gate()
    let route = EndpointRoute("/stuck", .deferred { _, _ in started.open() })
    let endpoint = Self.endpoint([route]) { $0.answerTimeout = .seconds(3_600) }
    let port = try endpoint.start().port
    let client = try RawClient(host: Self.host, port: port, asking: "/stuck")
    try await started.wait("the handler")
    // One that ends at a deadline before.
    let other = try RawClient(host: Self.host, port: port)
    let field = "X-Prometheus-Scrape-Timeout-Seconds: 0.4"
    other.send("GET /stuck HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
    other.endOutput()
    var ends: [Gate] = []
    for time in times {
      let end = Gate()
      ends.append(end)
      Task {
        await endpoint.shutdown(within: time)
        end.open()
      }
      // The loop has the deadline of this one before the next one comes.
      #expect(await Self.isFree(port))
    }
    for end in ends { try await end.wait("the end of a shutdown") }
    #expect(await client.receiveAll().isReset)
    withExtendedLifetime(other) {}
  }

  @Test func `ends when nobody holds it`() async throws {
    let started = Gate()
    let stuck = EndpointRoute("/stuck", .deferred { _, _ in started.open() })
    var endpoint: Endpoint? = Self.endpoint([Self.ok, stuck])
    let port = try #require(try endpoint?.start()).port
    let client = try RawClient(host: Self.host, port: port, asking: "/ok")
    #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
    let waiting = try RawClient(host: Self.host, port: port, asking: "/stuck")
    try await started.wait("the handler")
    endpoint = nil
    let end = await client.receiveAll()
    #expect(end == ("", false))
    #expect(await waiting.receiveAll().isReset)
  }

  /// A shutdown beside a start either precedes it, and then the endpoint runs and has its address, or ends
  /// it. No socket is left that the endpoint does not know.
  @Test func `leaves no socket behind when it is shut down while it starts`() async throws {
    for round in 0..<200 {
      let endpoint = Self.endpoint()
      let started = Task.detached { try endpoint.start() }
      let ended = Task.detached {
        // Another moment of the start in each round.
        for _ in 0..<(round % 50) * 20 where endpoint.address == nil {}
        await endpoint.shutdown(within: .zero)
      }
      let address = try await started.value
      await ended.value
      if let current = endpoint.address {
        #expect(current == address)
        await endpoint.shutdown(within: .zero)
      }
      #expect(await Self.isFree(address.port), "round \(round)")
      #expect(endpoint.address == nil)
    }
  }

  @Test(.needs(.program)) func `leaves no descriptor behind, served or refused`() async {
    await #expect(processExitsWith: .success) {
      var counts: [Int] = []
      for _ in 0..<3 {
        let endpoint = Self.endpoint([.liveness()])
        let client = try RawClient(host: Self.host, port: try endpoint.start().port)
        #expect(await client.get("/healthz").hasSuffix("ok\n"))
        client.reset()
        await endpoint.shutdown()
        _ = startError(at: .tcp(host: "0.0.0.0", port: 0))
        // Dispatch opens some of other kinds now and then.
        counts.append(
          try OpenDescriptors.on { $0.hasPrefix("socket:") || $0 == "anon_inode:[eventpoll]" }.count)
      }
      #expect(Set(counts).count == 1)
    }
  }
}
