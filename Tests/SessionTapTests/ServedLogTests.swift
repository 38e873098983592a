import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a tap makes of its log at its endpoint.
@Suite struct ServedLogTests {
  private func get(_ url: URL) async throws -> (String, HTTPURLResponse) {
    let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
    return (String(decoding: data, as: UTF8.self), try #require(response as? HTTPURLResponse))
  }

  @Test func `nothing is served unless asked for`() async throws {
    let tap = try Tap.start(TapTests.configuration(log: .standardError))
    let address = try #require(tap.address)
    let (_, response) = try await get(try #require(URL(string: "http://\(address)/logs")))
    #expect(response.statusCode == 404)
    await tap.shutdown()
  }

  @Test func `the newest lines are served where that is asked for, without any file`() async throws {
    var configuration = TapTests.configuration()
    configuration.servesLog = true
    let tap = try Tap.start(configuration)
    let address = try #require(tap.address)
    tap.log(.info, "hello", ["answer": 42])
    #expect(tap.requestLog?.flush() == true)
    let (text, response) = try await get(try #require(URL(string: "http://\(address)/logs")))
    #expect(response.statusCode == 200)
    #expect(text.contains(#""message":"hello""#))
    #expect(text.contains(#""answer":42"#))
    let (page, _) = try await get(try #require(URL(string: "http://\(address)/")))
    #expect(page.contains("data-log=\"yes\""))
    await tap.shutdown()
  }

  @Test func `a request that is refused is a warning in the log`() async throws {
    var configuration = TapTests.configuration()
    configuration.servesLog = true
    let folder = try TemporaryFolder()
    let tokens = folder("requests.jsonl")
    try Data("secret\n".utf8).write(to: URL(fileURLWithPath: tokens))
    configuration.endpoint?.access.bearerTokenFile = tokens
    let tap = try Tap.start(configuration)
    let address = try #require(tap.address)
    let (_, response) = try await get(try #require(URL(string: "http://\(address)/metrics")))
    #expect(response.statusCode == 401)
    let log = try #require(tap.requestLog)
    let line = try await Poll.until("the line") {
      log.flush()
      let lines = String(decoding: log.recent(LogQuery(severity: .warn)), as: UTF8.self)
      return lines.isEmpty ? nil : lines
    }
    #expect(line.contains("401"))
    await tap.shutdown()
  }
}
