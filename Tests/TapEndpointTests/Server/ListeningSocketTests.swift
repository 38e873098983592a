import TestSupport

@testable import TapEndpoint

@Suite(.needs(.thread)) struct ListeningSocketTests {
  private static func option(_ level: Int32, _ name: Int32, of descriptor: Int32) -> Int32 {
    var (value, length) = (Int32(-1), socklen_t(MemoryLayout<Int32>.size))
    getsockopt(descriptor, level, name, &value, &length)
    return value
  }

  /// What the kernel keeps for a client that does not read is bounded too. It doubles the number (socket(7)).
  @Test func `a connection neither blocks, delays what is small, nor takes what its client does not read`()
    async throws
  {
    let listener = try ListeningSocket(.loopback(port: 0))
    defer { listener.close() }
    let none = try listener.accept()
    #expect(none == nil)
    let port = listener.address.port
    let client = try RawClient(port: port)
    let descriptor = try await Poll.until("a connection") { try listener.accept() }
    defer { close(descriptor) }
    #expect(Self.option(Int32(IPPROTO_TCP), TCP_NODELAY, of: descriptor) != 0)
    #expect((131_072...262_144).contains(Self.option(SOL_SOCKET, SO_SNDBUF, of: descriptor)))
    for descriptor in [descriptor, listener.descriptor] {
      #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }
    withExtendedLifetime(client) {}
  }

  /// A crowd that comes at once, before any of it is accepted.
  @Test func `two hundred connections may wait`() throws {
    let text = try String(contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)
    let most = try #require(Int(text.prefix { $0.isNumber }))
    let listener = try ListeningSocket(.loopback(port: 0))
    defer { listener.close() }
    let port = listener.address.port
    let count = min(most, 200)
    let clients = try (0..<count).map { _ in try RawClient(port: port, deadline: 30) }
    #expect(clients.count == count)
  }
}
