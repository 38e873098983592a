import TapEndpoint
import TestSupport

@Suite struct UnixSocketTests {
  private func endpoint(_ path: String) -> Endpoint {
    Endpoint(configuration: .init(address: .unix(path: path)), routes: [.liveness()])
  }

  /// No page of another site reaches it, as it does an address of the loopback by a name of its own.
  @Test func `takes any host`() async throws {
    let directory = try TemporaryFolder()
    let path = directory("socket")
    let lines = EndpointRoute.immediate("/logs") { _ in .text("lines") }
    let endpoint = Endpoint(configuration: .init(address: .unix(path: path)), routes: [lines])
    try endpoint.start()
    let request = "GET /logs HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n"
    #expect(try await RawClient(path: path).exchange(request).hasPrefix("HTTP/1.1 200 "))
    await endpoint.shutdown()
  }

  @Test func `a client there has no name in the line of a refusal`() async throws {
    let directory = try TemporaryFolder()
    // The longest path: `sun_path` has 108 bytes on Linux, the NUL at its end included (unix(7)).
    let path = directory(String(repeating: "x", count: 107 - directory("").utf8.count))
    let lines = EventQueue<String>()
    var configuration = Endpoint.Configuration(address: .unix(path: path))
    configuration.logRefusal = { lines.send($0) }
    let endpoint = Endpoint(configuration: configuration, routes: [])
    try endpoint.start()
    _ = try await RawClient(path: path).exchange("nonsense\r\n")
    let line = try await lines.next("a refusal")
    #expect(line == "refused a client: 400 the first line is no request line")
    await endpoint.shutdown()
  }

  /// What a process that crashed leaves behind.
  private func leaveSocket(at path: String) throws { close(try LoopbackSocket.bind(path: path)) }

  @Test func `serves the owner alone`() async throws {
    let directory = try TemporaryFolder()
    let path = directory("socket")
    let endpoint = endpoint(path)
    for _ in 0..<2 {
      #expect(try endpoint.start().description == path)
      #expect(directory.mode(of: "socket") == 0o600)
      #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
      await endpoint.shutdown()
      #expect(directory.mode(of: "socket") == nil)
    }
  }

  @Test func `replaces a socket that nobody listens on`() async throws {
    let directory = try TemporaryFolder()
    let path = directory("socket")
    try leaveSocket(at: path)
    let endpoint = endpoint(path)
    try endpoint.start()
    #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
    await endpoint.shutdown()
  }

  @Test func `leaves another ones socket alone`() async throws {
    let directory = try TemporaryFolder()
    let path = directory("socket")
    let first = endpoint(path)
    try first.start()
    let error = #expect(throws: EndpointError.self) { try endpoint(path).start() }
    #expect(error?.code == .addressInUse)
    #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
    await first.shutdown()
  }

  @Test func `a second start says that it runs, not that its address is in use`() async throws {
    let directory = try TemporaryFolder()
    let endpoint = endpoint(directory("socket"))
    try endpoint.start()
    let error = #expect(throws: EndpointError.self) { try endpoint.start() }
    #expect(error?.code == .alreadyRunning)
    #expect(try await RawClient(path: directory("socket")).get("/healthz").hasSuffix("ok\n"))
    await endpoint.shutdown()
  }

  /// A successor may have removed the socket of this one, which still runs, and taken its path.
  @Test func `leaves the socket of its successor`() async throws {
    let directory = try TemporaryFolder()
    let path = directory("socket")
    let (first, second) = (endpoint(path), endpoint(path))
    try first.start()
    directory.remove("socket")
    try second.start()
    await first.shutdown()
    #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
    await second.shutdown()
  }

  @Test func `leaves a file alone`() throws {
    let directory = try TemporaryFolder()
    try directory.write("precious", to: "file")
    let error = #expect(throws: EndpointError.self) { try endpoint(directory("file")).start() }
    #expect(error?.code == .addressInUse)
    #expect(directory.mode(of: "file") != nil)
  }

  /// Whoever has put it there may have meant another file to be removed.
  @Test func `leaves a link alone that leads to such a socket`() throws {
    let directory = try TemporaryFolder()
    try leaveSocket(at: directory("left"))
    try #require(symlink(directory("left"), directory("link")) == 0)
    let error = #expect(throws: EndpointError.self) { try endpoint(directory("link")).start() }
    #expect(error?.code == .addressInUse)
    var status = stat()
    #expect(lstat(directory("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(directory.mode(of: "left") != nil)
  }

  @Test(arguments: [
    ("", EndpointError.Code.invalidConfiguration),
    (String(repeating: "x", count: 200), .invalidConfiguration),
    // `sun_path` has 108 bytes on Linux, the NUL at its end included (unix(7)).
    (String(repeating: "x", count: 108), .invalidConfiguration),
    ("a\u{0}b", .invalidConfiguration), ("/tmp/no-such-directory/socket", .addressNotAvailable),
  ])
  func `refuses a path that is none`(_ path: String, code: EndpointError.Code) {
    let error = #expect(throws: EndpointError.self) { try endpoint(path).start() }
    #expect(error?.code == code)
    if code == .invalidConfiguration {
      #expect(error?.description == "invalid socket path: \(path) (choose one of 1 to 100 bytes)")
    }
  }
}
