import TestSupport

@testable import TapURLSession

/// The way through a proxy to a server that speaks TLS. In processes of their own: libcurl takes the proxy
/// from the environment, for all sessions.
struct TunnelTests {
  /// In milliseconds.
  private static let pause = 100

  private static func use(_ proxy: Origin) {
    setenv("https_proxy", "http://127.0.0.1:\(proxy.port)", 1)
    setenv("no_proxy", "", 1)
  }

  private static func isPause(_ phase: Int64?) -> Bool { phase ?? 0 >= Int64(pause - 1) * 1_000_000 }

  @Test(.needs(.program), .usesFrontServer)
  func `the time until a tunnel is open is a part of the connection`() async throws {
    try await TrustedCertificate.prepare()
    await #expect(processExitsWith: .success) {
      let origin = try Origin { _ in [.response(body: [1])] }
      let front = try await FrontServer.start(before: origin)
      let url = front.url(.tls, "/")
      let port = try #require(url.port)
      let proxy = try Origin { _ in
        [.think(Self.pause), .text("HTTP/1.1 200 OK\r\n\r\n"), .forward(to: port)]
      }
      Self.use(proxy)
      let (tap, observer) = URLSessionTap.observed()
      let session = tap.session()
      session.keep()
      for _ in 0..<2 { _ = try await session.data(from: url) }
      try await observer.waitForEnds(2)
      let (first, second) = (observer.ended[0].timings, observer.ended[1].timings)
      expectEqual(observer.ended.map(\.statusCode), [200, 200])
      expectEqual(proxy.requests.map(\.method), ["CONNECT"])
      #expect(Self.isPause(first[nanoseconds: .connect]))
      expectEqual([first[.tls], second[.connect], second[.tls]], [nil, nil, nil])
      expectEqual(observer.ended.map(\.phaseSum), observer.ended.map(\.elapsed))
      try await front.stop()
    }
  }

  @Test(.needs(.program)) func `a proxy that opens no tunnel is a connection that failed`() async {
    await #expect(processExitsWith: .success) {
      let proxy = try Origin { request in
        let name = String(request.target.prefix { $0 != "." })
        let answer: [String: [OriginStep]] = ["closes": [], "opens": [.text("HTTP/1.1 200 OK\r\n\r\n")]]
        return [.think(Self.pause)] + (answer[name] ?? [.response("\(name) No")]) + [.close]
      }
      Self.use(proxy)
      let (tap, observer) = URLSessionTap.observed()
      let session = tap.session()
      let names = ["407", "403", "502", "closes", "opens"]
      for name in names {
        let url = try #require(URL(string: "https://\(name).test/"))
        await #expect(throws: URLError.self) { try await session.data(from: url) }
      }
      try await observer.waitForEnds(names.count)
      for (name, observation) in zip(names, observer.ended) {
        let timings = observation.timings
        // In an open tunnel it is the handshake that fails: libcurl's TLS says so, or that the peer has gone.
        let ends: [RequestErrorType] = name == "opens" ? [.tls, .connectionLost] : [.connect]
        #expect(ends.map { .failure($0, statusCode: nil) }.contains(observation.end), "\(name)")
        #expect(Self.isPause(timings[nanoseconds: .connect]) && timings[.tls] == nil, "\(name)")
        expectEqual(observation.cutOffPhase, name == "opens" ? .tls : .connect, "\(name)")
      }
    }
  }
}
