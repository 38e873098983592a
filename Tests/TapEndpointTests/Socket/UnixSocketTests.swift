import TapEndpoint
import TestSupport

@Suite struct UnixSocketTests {
  private func endpoint(_ path: String) -> Endpoint {
    Endpoint(configuration: .init(address: .unix(path: path)), routes: [.liveness()])
  }

  /// What a process that crashed leaves behind.
  private func leaveSocket(at path: String) throws {
    let leftover = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(leftover, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    close(leftover)
    try #require(result == 0)
  }

  @Test func `serves the owner alone`() async throws {
    let directory = try TemporaryFolder()
    let path = directory.path + "/socket"
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
    let path = directory.path + "/socket"
    try leaveSocket(at: path)
    let endpoint = endpoint(path)
    try endpoint.start()
    #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
    await endpoint.shutdown()
  }

  @Test func `leaves another ones socket alone`() async throws {
    let directory = try TemporaryFolder()
    let path = directory.path + "/socket"
    let first = endpoint(path)
    try first.start()
    let error = #expect(throws: EndpointError.self) { try endpoint(path).start() }
    #expect(error?.code == .addressInUse)
    #expect(try await RawClient(path: path).get("/healthz").hasSuffix("ok\n"))
    await first.shutdown()
  }

  @Test func `leaves a file alone`() throws {
    let directory = try TemporaryFolder()
    try directory.write("precious", to: "file")
    let error = #expect(throws: EndpointError.self) { try endpoint(directory.path + "/file").start() }
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

  @Test(arguments: ["", String(repeating: "x", count: 200), "a\u{0}b"])
  func `refuses a path that is none`(_ path: String) {
    let error = #expect(throws: EndpointError.self) { try endpoint(path).start() }
    #expect(error?.code == .invalidConfiguration)
  }

  @Test func `names a directory that is not there`() {
    let error = #expect(throws: EndpointError.self) { try endpoint("/tmp/no-such-directory/socket").start() }
    #expect(error?.code == .addressNotAvailable)
  }
}
