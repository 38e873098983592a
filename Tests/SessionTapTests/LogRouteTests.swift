import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
  import Glibc
#endif

@Suite(.needs(.thread))
struct LogRouteTests {
  private func log(bytes: Int = 1 << 20) throws -> RequestLog {
    var configuration = RequestLog.Configuration()
    configuration.recentLineLimit = 1_000
    configuration.recentByteLimit = bytes
    configuration.followerLimit = 1
    return try RequestLog(to: .memory, configuration: configuration)
  }

  private func withRoute(_ log: RequestLog, _ body: (_ port: Int) async throws -> Void) async throws {
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [.logs(of: log)])
    let port = Int(try endpoint.start().port ?? 0)
    do {
      try await body(port)
    } catch {
      await endpoint.shutdown(within: .seconds(1))
      throw error
    }
    await endpoint.shutdown(within: .seconds(1))
  }

  private func get(_ query: String, _ port: Int) async throws -> (status: Int, messages: [String]) {
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/logs\(query)"))
    let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
    let text = String(decoding: data, as: UTF8.self)
    return (
      (response as? HTTPURLResponse)?.statusCode ?? 0,
      text.matches(of: /"message":"([^"]*)"/).map { String($0.1) }
    )
  }

  /// Whether the only place for a follower is taken.
  private func isFollowed(_ log: RequestLog) -> Bool { log.follow(onLines: {}) == nil }

  @Test
  func `gives the lines that are asked for`() async throws {
    let log = try log()
    for (index, severity) in LogSeverity.allCases.enumerated() { log.log(severity, "\(index)") }
    #expect(log.flush())
    try await withRoute(log) { port in
      let expected = [
        "": ["0", "1", "2", "3", "4"], "?limit=2": ["3", "4"], "?severity=error": ["4"],
        "?since=2200-01-01T00:00:00Z": [],
      ]
      for (query, messages) in expected {
        let answer = try await get(query, port)
        #expect(answer.status == 200)
        #expect(answer.messages == messages)
      }
      let refusal = try await get("?severity=loud", port)
      #expect(refusal.status == 400)
    }
  }

  @Test
  func `goes on with the lines that come, to the end of the log`() async throws {
    let log = try log()
    log.log(.info, "before")
    #expect(log.flush())
    try await withRoute(log) { port in
      async let answer = get("?follow=1&limit=1", port)
      _ = try await Poll.until("a follower") { isFollowed(log) ? true : nil }
      let refusal = try await get("?follow=1", port)
      #expect(refusal.status == 503)
      log.log(.info, "after")
      #expect(log.shutdown())
      let messages = try await answer.messages
      #expect(messages == ["before", "after"])
    }
  }

  /// A connection that asks and never reads.
  private func silentReader(of target: String, _ port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    #expect(result == 0)
    let request = "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    #expect(send(descriptor, request, request.utf8.count, 0) == request.utf8.count)
    return descriptor
  }

  @Test
  func `cuts off a reader that does not read`() async throws {
    let log = try log(bytes: 65_536)
    try await withRoute(log) { port in
      let reader = try silentReader(of: "/logs?follow=1", port)
      defer { close(reader) }
      _ = try await Poll.until("a follower") { isFollowed(log) ? true : nil }
      let text = String(repeating: "x", count: 4_000)
      _ = try await Poll.until("the end of the follower") {
        for _ in 0..<1_000 { log.log(.info, text) }
        return isFollowed(log) ? nil : true
      }
    }
  }
}
