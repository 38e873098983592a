import TapEndpoint
import TestSupport

@Suite(.serialized) struct EndpointLifetimeTests {
  /// Whether nobody listens any more. A process that another test starts has all descriptors of this one for
  /// a moment, until it is another program: so a socket that was closed may be open a little longer. One that
  /// is left open stays so.
  private static func isFree(_ port: Int) async -> Bool {
    (try? await Poll.until("the port to be free") { (try? RawClient(host: host, port: port)) == nil }) != nil
  }

  private static let ok = EndpointRoute.immediate("/ok") { _ in .text("fine\n") }

  /// An address of this machine's that nobody listens at but these tests of this process, one after the
  /// other: a port that was given up there stays free, while one of 127.0.0.1 may be another test's at once.
  private static let host = "127.77.\(getpid() >> 8 & 255).\(getpid() & 255)"

  @Test func `names an address that is in use`() async throws {
    try await withEndpoint(routes: []) { port in
      let error = startError(at: .loopback(port: port))
      #expect(error?.code == .addressInUse)
      #expect(error?.description.hasPrefix("address in use: 127.0.0.1:\(port) (") == true)
    }
  }

  @Test(arguments: [
    ("192.0.2.1", "address not available: 192.0.2.1:0 (use an address of this machine)"),
    ("no host", "unknown host: no host (use an address of this machine, such as 127.0.0.1)"),
    ("127.0.0.1\u{0}x", "unknown host: 127.0.0.1\u{0}x (use an address of this machine, such as 127.0.0.1)"),
  ])
  func `names a host that is none of ours`(host: String, text: String) {
    let error = startError(at: .tcp(host: host, port: 0))
    #expect(error?.code == .addressNotAvailable)
    #expect(error?.description == text)
  }

  @Test(arguments: [-1, 65_536, 70_000])
  func `names a port that is none`(port: Int) {
    let error = startError(at: .loopback(port: port))
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.description == "invalid port: \(port) (choose one of 1 to 65535, or 0 for a free one)")
  }

  private typealias Limits = Endpoint.Configuration.Limits

  @Test func `names a limit out of range`() async throws {
    let counts: [(name: String, limit: WritableKeyPath<Limits, Int>, least: Int)] = [
      ("headBytes", \.headBytes, 64), ("headerCount", \.headerCount, 1), ("connections", \.connections, 1),
      ("requestsInFlight", \.requestsInFlight, 1), ("unsentBytes", \.unsentBytes, 0),
    ]
    #expect(counts.map { Limits()[keyPath: $0.limit] } == [8_192, 100, 512, 256, 67_108_864])
    for (name, limit, least) in counts {
      let error = startError { $0.limits[keyPath: limit] = least - 1 }
      #expect(error?.code == .invalidConfiguration)
      #expect(
        error?.description == "invalid limit: \(name) is \(least - 1) and must be at least \(least)")
    }
    var configuration = Endpoint.Configuration(address: .loopback(port: 0))
    for (_, limit, least) in counts { configuration.limits[keyPath: limit] = least }
    let endpoint = Endpoint(configuration: configuration, routes: [])
    try endpoint.start()
    await endpoint.shutdown(within: .zero)
  }

  @Test func `names a timeout out of range`() {
    let timeouts: [(name: String, limit: WritableKeyPath<Limits, Duration>)] = [
      ("headTimeout", \.headTimeout), ("idleTimeout", \.idleTimeout), ("answerTimeout", \.answerTimeout),
      ("writeTimeout", \.writeTimeout),
    ]
    #expect(
      timeouts.map { Limits()[keyPath: $0.limit] } == [.seconds(5), .seconds(75), .seconds(60), .seconds(10)])
    for (name, limit) in timeouts {
      let error = startError { $0.limits[keyPath: limit] = .zero }
      let problem = "\(name) is \(Duration.zero) and must be between 1 ms and a day"
      #expect(error?.description == "invalid limit: " + problem)
    }
  }

  @Test(arguments: [
    (Duration.milliseconds(1), true), (.seconds(86_400), true), (.nanoseconds(999_999), false),
    (.seconds(86_401), false),
  ])
  func `takes timeouts from 1 ms to a day`(timeout: Duration, isTaken: Bool) async {
    let configuration = with(Endpoint.Configuration(address: .loopback(port: 0))) {
      ($0.limits.headTimeout, $0.limits.idleTimeout) = (timeout, timeout)
      ($0.limits.answerTimeout, $0.limits.writeTimeout) = (timeout, timeout)
    }
    let endpoint = Endpoint(configuration: configuration, routes: [])
    let address = try? endpoint.start()
    #expect((address != nil) == isTaken)
    await endpoint.shutdown(within: .zero)
  }

  @Test func `starts once at a time`() async throws {
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [])
    try endpoint.start()
    let error = #expect(throws: EndpointError.self) { try endpoint.start() }
    #expect(error?.code == .alreadyRunning)
    #expect(error?.description == "already running: shut the endpoint down before it starts again")
    await endpoint.shutdown()
    #expect(endpoint.address == nil)
    await endpoint.shutdown()
  }

  @Test func `starts again on the same port`() async throws {
    var port = 0
    for _ in 0..<5 {
      let endpoint = Endpoint(
        configuration: .init(address: .tcp(host: Self.host, port: port)), routes: [Self.ok])
      port = try #require(try endpoint.start().port)
      let client = try RawClient(host: Self.host, port: port, asking: "/ok")
      #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
      await endpoint.shutdown()
      #expect(await Self.isFree(port))
      let end = await client.receiveAll()
      #expect(end.text == "" && !end.isReset)
    }
  }

  @Test func `lets a request finish before it shuts down`() async throws {
    let (started, release) = (Gate(), Gate())
    let route = EndpointRoute.onThreads("/slow") { _ in
      started.open()
      release.waitBlocking()
      return .text("done")
    }
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [route])
    let port = try #require(try endpoint.start().port)
    let client = try RawClient(port: port, asking: "/slow")
    try await started.wait("the handler")
    async let shutdown: Void = endpoint.shutdown(within: .seconds(60))
    try await Poll.until("the end of the listener") { (try? RawClient(port: port)) == nil }
    #expect(endpoint.address == nil)
    let error = #expect(throws: EndpointError.self) { try endpoint.start() }
    #expect(error?.code == .alreadyRunning)
    release.open()
    let answer = await client.receiveAll().text
    #expect(answer.contains("\r\nConnection: close\r\n"))
    #expect(answer.hasSuffix("done"))
    client.reset()
    await shutdown
  }

  @Test(arguments: [
    [Duration.milliseconds(10)], [.seconds(3_600), .zero], [.milliseconds(500), .seconds(3_600)],
  ])
  func `does not wait for a request that does not finish, after the earliest of several deadlines`(
    times: [Duration]
  ) async throws {
    let started = Gate()
    let route = EndpointRoute(
      "/stuck",
      .deferred { _, _ in
        started.open()
        return {}
      })
    var configuration = Endpoint.Configuration(address: .tcp(host: Self.host, port: 0))
    configuration.limits.answerTimeout = .seconds(3_600)
    let endpoint = Endpoint(configuration: configuration, routes: [route])
    let port = try #require(try endpoint.start().port)
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
    let stuck = EndpointRoute(
      "/stuck",
      .deferred { _, _ in
        started.open()
        return {}
      })
    var endpoint: Endpoint? = Endpoint(
      configuration: .init(address: .loopback(port: 0)), routes: [Self.ok, stuck])
    let port = try #require(try endpoint?.start().port)
    let client = try RawClient(port: port, asking: "/ok")
    #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
    let waiting = try RawClient(port: port, asking: "/stuck")
    try await started.wait("the handler")
    endpoint = nil
    let end = await client.receiveAll()
    #expect(end.text == "" && !end.isReset)
    #expect(await waiting.receiveAll().isReset)
  }

  /// A shutdown beside a start either precedes it, and then the endpoint runs and has its address, or ends
  /// it. No socket is left that the endpoint does not know.
  @Test func `leaves no socket behind when it is shut down while it starts`() async throws {
    for round in 0..<200 {
      let endpoint = Endpoint(
        configuration: .init(address: .tcp(host: Self.host, port: 0)), routes: [Self.ok])
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
      let port = try #require(address.port)
      #expect(await Self.isFree(port), "round \(round)")
      #expect(endpoint.address == nil)
    }
  }

  @Test func `all shutdowns wait until the port is free`() async throws {
    for _ in 0..<50 {
      let endpoint = Endpoint(
        configuration: .init(address: .tcp(host: Self.host, port: 0)), routes: [Self.ok])
      let port = try #require(try endpoint.start().port)
      let client = try RawClient(host: Self.host, port: port)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            await endpoint.shutdown()
            #expect(await Self.isFree(port))
          }
        }
      }
      #expect(await client.receiveAll().text == "")
    }
  }

  @Test(.needs(.program)) func `a shutdown leaves no descriptor behind`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let manager = FileManager.default
      var counts: [Int] = []
      for _ in 0..<3 {
        // What a process that crashed leaves behind.
        close(try LoopbackSocket.bind(path: folder("socket")))
        for address in [EndpointAddress.unix(path: folder("socket")), .loopback(port: 0)] {
          let endpoint = Endpoint(configuration: .init(address: address), routes: [.liveness()])
          let port = try endpoint.start().port
          let client = try port.map { try RawClient(port: $0) } ?? RawClient(path: folder("socket"))
          #expect(await client.get("/healthz").hasSuffix("ok\n"))
          client.reset()
          await endpoint.shutdown()
        }
        // Dispatch opens some of other kinds now and then.
        let open = try manager.contentsOfDirectory(atPath: "/proc/self/fd").filter { descriptor in
          let file = try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + descriptor)
          return file?.hasPrefix("socket:") == true || file == "anon_inode:[eventpoll]"
        }
        counts.append(open.count)
      }
      #expect(Set(counts).count == 1)
    }
  }

  @Test func `listens at an address in brackets`() async throws {
    #expect(EndpointAddress.tcp(host: "[::1]", port: 1) == .tcp(host: "::1", port: 1))
    #expect(EndpointAddress.tcp(host: "[::1]", port: 1).description == "[::1]:1")
    #expect(EndpointAddress.tcp(host: "[a]", port: 1).description == "[a]:1")
    let endpoint = Endpoint(configuration: .init(address: .tcp(host: "[::1]", port: 0)), routes: [])
    do throws(EndpointError) {
      let address = try endpoint.start()
      #expect(address.host == "::1")
    } catch {
      // A machine without IPv6. The address is not the matter.
      #expect(error.description.contains("[::1]"))
      #expect(!error.description.contains("unknown host"))
    }
    await endpoint.shutdown()
  }
}
