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
    (EndpointAddress.tcp(host: "192.0.2.1", port: 0), EndpointError.Code.addressNotAvailable),
    (.tcp(host: "no host", port: 0), .addressNotAvailable), (.loopback(port: 70_000), .invalidConfiguration),
    (.loopback(port: -1), .invalidConfiguration),
  ])
  func `names an address that is none of ours`(address: EndpointAddress, code: EndpointError.Code) {
    let error = startError(at: address)
    #expect(error?.code == code)
    #expect(error?.description.contains("(") == true)
  }

  @Test func `names a limit out of range`() {
    let error = startError { $0.limits.connections = 0 }
    #expect(error?.description == "invalid limit: connections is 0 and must be at least 1")
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
    let endpoint = Endpoint(
      configuration: .init(address: .tcp(host: Self.host, port: 0)), routes: [route])
    let port = try #require(try endpoint.start().port)
    let client = try RawClient(host: Self.host, port: port, asking: "/stuck")
    try await started.wait("the handler")
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
  }

  @Test func `ends when nobody holds it`() async throws {
    var endpoint: Endpoint? = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [Self.ok])
    let port = try #require(try endpoint?.start().port)
    let client = try RawClient(port: port, asking: "/ok")
    #expect(await client.receive(until: "fine\n").hasSuffix("fine\n"))
    endpoint = nil
    #expect(await client.receiveAll().text == "")
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

  @Test func `listens at an address in brackets`() async throws {
    #expect(EndpointAddress.tcp(host: "[::1]", port: 1) == .tcp(host: "::1", port: 1))
    #expect(EndpointAddress.tcp(host: "[::1]", port: 1).description == "[::1]:1")
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
