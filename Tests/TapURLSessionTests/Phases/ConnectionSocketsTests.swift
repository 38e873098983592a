import TapCore
import TestSupport
import Testing

@testable import TapURLSession

/// How the socket of a finished transfer is found among those of the process, and what ends the search.
@Suite struct ConnectionSocketsTests {
  /// Searches descriptors of which all but one are those of others.
  private func search(
    near recent: Int32, _ one: Int32? = nil, _ sighting: ConnectionSockets.Sighting = .found,
    otherwise: ConnectionSockets.Sighting = .other
  ) -> (found: Int32?, recent: Int32, looks: Int) {
    var (recent, looks) = (recent, 0)
    let found = ConnectionSockets.search(near: &recent) { descriptor in
      looks += 1
      return descriptor == one ? sighting : otherwise
    }
    return (found, recent, looks)
  }

  @Test func `a search begins where the last one ended, and finds every descriptor`() {
    #expect(search(near: 40, 40) == (found: 40, recent: 40, looks: 1))
    #expect(search(near: 40, 20) == (found: 20, recent: 20, looks: 19))
    #expect(search(near: 3, 4_000) == (found: 4_000, recent: 4_000, looks: 3_999))
  }

  @Test func `a connection that was reset ends the search`() {
    #expect(search(near: 40, 40, .reset) == (found: nil, recent: 40, looks: 1))
    #expect(search(near: 40, 20, .reset) == (found: nil, recent: 20, looks: 19))
  }

  @Test func `many numbers in a row without a descriptor end the search`() {
    let gap = ConnectionSockets.gapLimit
    #expect(search(near: 40, otherwise: .free) == (found: nil, recent: 40, looks: gap + 1))
  }

  /// What a request's end finds, where its server keeps the connection, closes it or resets it.
  @Test(arguments: [OriginStep.signal(Gate()), .close, .reset])
  func `a socket shows whether its peer is there`(last: OriginStep) async throws {
    let origin = try Origin(greeting: [last]) { _ in [] }
    let (descriptor, own) = try LoopbackSocket.bind(listens: false)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(origin.port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
    let isReset = if case .reset = last { true } else { false }
    let peer = ConnectionSockets.Peer(address: "127.0.0.1", port: origin.port)
    let expected = isReset ? ConnectionSockets.Sighting.reset : .found
    _ = try await Poll.until("what the server did") {
      ConnectionSockets.sighting(of: descriptor, from: own, to: peer) == expected ? true : nil
    }
    #expect(ConnectionSockets.sighting(of: descriptor, from: own + 1, to: peer) == .other)
    #expect(ConnectionSockets.sighting(of: 4_095, from: own, to: peer) == .free)
  }

  /// Foundation closes a socket after it has reported the end, so the connection's round trip is known in any case.
  @Test(arguments: [[], [("Connection", "close")]])
  func `the socket of the first response is found`(headers: [(String, String)]) async throws {
    let origin = try Origin { _ in
      [.response(headers: headers, body: [1])] + (headers.isEmpty ? [] : [.close])
    }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: "test"))
    for _ in 0..<3 { _ = try await session.data(from: origin.url()) }
    session.finishTasksAndInvalidate()
    try await observer.waitForEnds(3)
    let opened = observer.ended.filter { $0.openedConnections == 1 }
    #expect(opened.count == (headers.isEmpty ? 1 : 3))
    #expect(opened.allSatisfy { $0.roundTrip != nil })
  }
}
