import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.needs(.thread))
struct LogRouteTests {
  private func log() throws -> RequestLog {
    var configuration = RequestLog.Configuration()
    configuration.recentLineLimit = 1_000
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

  @Test
  func `gives the lines that are asked for`() async throws {
    let log = try log()
    for (index, severity) in LogSeverity.allCases.enumerated() { log.log(severity, "\(index)") }
    #expect(log.flush())
    try await withRoute(log) { port in
      let expected = [
        "": ["0", "1", "2", "3", "4"], "?limit=2": ["3", "4"], "?severity=error": ["4"],
        "?client=none": [],
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
}
