import SessionTap
import TestSupport

@Suite struct ServedLogTests {
  private static func tap(_ change: (inout Tap.Configuration) -> Void = { _ in }) throws -> Tap {
    var configuration = Tap.Configuration.test()
    configuration.servesLog = true
    change(&configuration)
    return try Tap.start(configuration)
  }

  @Test func `nothing is served unless asked for`() async throws {
    let tap = try Tap.start(.test(log: .standardError))
    #expect(try await tap.get("/logs").hasPrefix("HTTP/1.1 404 "))
    await tap.shutdown()
  }

  @Test func `the lines that are asked for are served where told so, without any file`() async throws {
    let tap = try Self.tap()
    for (index, severity) in LogSeverity.allCases.enumerated() { tap.log(severity, "\(index)", ["n": 42]) }
    #expect(tap.requestLog?.flush() == true)
    let expected = [
      "": ["0", "1", "2", "3", "4"], "?limit=2": ["3", "4"], "?severity=error": ["4"], "?client=none": [],
    ]
    for (query, messages) in expected {
      let answer = try await tap.get("/logs\(query)")
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
      #expect(answer.matches(of: /"message":"([^"]*)","n":42/).map { String($0.1) } == messages)
    }
    #expect(try await tap.get("/logs?severity=loud").hasPrefix("HTTP/1.1 400 "))
    #expect(try await tap.get("/").contains("data-log=\"yes\""))
    await tap.shutdown()

    // As many as the app keeps, where it says how many.
    let few = try Self.tap { $0.logging.recentLineLimit = 2 }
    for number in 0..<5 { few.log(.info, "\(number)") }
    await few.shutdown()
    let messages = try #require(few.requestLog).recentText.matches(of: /"message":"([^"]*)"/).map(\.1)
    #expect(messages == ["3", "4"])
  }

  @Test func `a request that is refused is a warning in the log, unless the app is told`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("secret\n", to: "tokens")
    let tap = try Self.tap { $0.endpoint?.access.bearerTokenFile = folder("tokens") }
    #expect(try await tap.get("/metrics").hasPrefix("HTTP/1.1 401 "))
    let log = try #require(tap.requestLog)
    let line = try await Poll.until("the line") {
      log.flush()
      let lines = String(decoding: log.recent(LogQuery(severity: .warn)), as: UTF8.self)
      return lines.isEmpty ? nil : lines
    }
    #expect(line.contains("401"))
    await tap.shutdown()

    let refusals = EventQueue<String>()
    let other = try Self.tap {
      $0.endpoint?.access.bearerTokenFile = folder("tokens")
      $0.endpoint?.logRefusal = { refusals.send($0) }
    }
    #expect(try await other.get("/metrics").hasPrefix("HTTP/1.1 401 "))
    await other.shutdown()
    try #require(other.requestLog?.recent(LogQuery(severity: .warn)).isEmpty == true)
    #expect(try await refusals.next("a refusal").contains("401"))
  }
}
