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
    for path in ["/logs", "/requests"] { #expect(try await tap.get(path).hasPrefix("HTTP/1.1 404 ")) }
    #expect(try await tap.get("/").contains("data-log=\"no\""))
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
    // By its number a reader gets what is newer.
    let last = try #require(tap.requestLog).recentLines(LogQuery()).last
    let newest = try await tap.get("/logs?after=\(last - 1)")
    #expect(newest.contains("\r\nSession-Tap-Last-Line: \(last)\r\n"))
    #expect(newest.contains("\r\nContent-Type: application/x-ndjson; charset=utf-8\r\n"))
    #expect(newest.matches(of: /"message":"([^"]*)"/).map(\.1) == ["4"])
    let refusal = try await tap.get("/logs?severity=loud")
    #expect(refusal.hasPrefix("HTTP/1.1 400 "))
    #expect(refusal.contains("\r\n\r\n400 Bad Request: severity must be one of "))
    #expect(try await tap.get("/").contains("data-log=\"yes\""))
    await tap.shutdown()

    // As many as the app keeps, where it says how many.
    let few = try Self.tap { $0.logging.recentLineLimit = 2 }
    for number in 0..<5 { few.log(.info, "\(number)") }
    await few.shutdown()
    let messages = try #require(few.requestLog).recentText.matches(of: /"message":"([^"]*)"/).map(\.1)
    #expect(messages == ["3", "4"])

    let many = try Self.tap()
    for number in 0...1_000 { many.log(.info, "\(number)") }
    await many.shutdown()
    let kept = try #require(many.requestLog).recent()
    #expect(kept.count { $0 == UInt8(ascii: "\n") } == 1_000)
  }

  @Test func `a request that is refused is a warning in the log, unless the app is told`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("secret\n", to: "tokens")
    let tap = try Self.tap { $0.endpoint?.access.bearerTokenFile = folder("tokens") }
    for path in ["/metrics", "/logs", "/requests"] {
      #expect(try await tap.get(path).hasPrefix("HTTP/1.1 401 "))
    }
    let log = try #require(tap.requestLog)
    let line = try await Poll.until("the line") {
      log.flush()
      let lines = String(decoding: log.recentLines(LogQuery(severity: .warn)).bytes, as: UTF8.self)
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
    try #require(other.requestLog?.recentLines(LogQuery(severity: .warn)).bytes.isEmpty == true)
    #expect(try await refusals.next("a refusal").contains("401"))
  }

  /// The lines of an answer of `/requests`, and how many requests there are.
  private static func requests(
    _ tap: Tap, _ query: String = ""
  ) async throws -> (lines: [Substring], all: Int?) {
    let answer = try await tap.get("/requests\(query)")
    let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
    let (head, body) = (parts[0], try #require(parts.dropFirst().first))
    #expect(head.hasPrefix("HTTP/1.1 200 "))
    #expect(head.contains("Content-Type: application/x-ndjson; charset=utf-8\r\n"))
    #expect(head.contains("Cache-Control: no-store"))
    #expect(body.isEmpty || body.hasSuffix("\n"))
    let all = head.firstMatch(of: /Session-Tap-Active-Requests: (\d+)/)?.1
    return (body.split(separator: "\n"), all.flatMap { Int($0) })
  }

  @Test func `what has not ended is served, the oldest first, as the log writes it`() async throws {
    let tap = try Self.tap()
    var listed = try await Self.requests(tap)
    #expect(listed.lines.isEmpty && listed.all == 0)
    let url = "http://user:secret@host:81/0?token=secret"
    let first = tap.outbound.begin(client: "c", method: "GET", url: url)
    let served = tap.inbound.begin(method: "PUT", path: "/1?token=secret", fields: ["tenant": "acme"])
    let last = tap.outbound.begin(client: "c", method: "GET", url: "http://host/2")
    served.responseBegan(statusCode: 201)
    listed = try await Self.requests(tap)
    #expect(listed.all == 3)
    let objects = try listed.lines.map {
      try jsonObject($0)
    }
    let events = ["client", "server", "client"].map { "http.\($0).request.waiting" }
    #expect(objects.map { $0["event"] as? String } == events)
    #expect(objects.map { $0["waiting_for"] as? String } == ["response", "client", "response"])
    #expect(objects[0]["url.full"] as? String == "http://host:81/0?token=REDACTED")
    #expect(objects[0]["trace_id"] as? String == first.trace.traceID)
    #expect(objects[1]["url.path"] as? String == "/1" && objects[1]["tenant"] as? String == "acme")
    #expect(objects[1]["http.response.status_code"] as? Int == 201)
    let ages = objects.compactMap { $0["duration_s"] as? Double }
    #expect(ages.count == 3 && ages == ages.sorted(by: >) && ages.allSatisfy { $0 >= 0 })

    for (query, count) in [("2", 2), ("%32", 2), ("9&limit=0", 0), ("1000&x=y", 3)] {
      listed = try await Self.requests(tap, "?limit=\(query)")
      #expect(listed.lines.count == count && listed.all == 3, "\(query)")
    }
    first.end(statusCode: 200)
    listed = try await Self.requests(tap)
    #expect(listed.all == 2 && listed.lines.first?.contains("\"/1\"") == true)
    let port = try #require(tap.address?.port)
    let head = try await RawClient.get("/requests", port: port, method: "HEAD")
    #expect(head.contains("Session-Tap-Active-Requests: 2\r\n") && head.hasSuffix("\r\n\r\n"))
    withExtendedLifetime(last) {}
    await tap.shutdown()
  }

  @Test(arguments: [true, false])
  func `the page has the addresses of what waits only where the log is served`(isServed: Bool) async throws {
    let tap = try Self.tap { ($0.servesLog, $0.outbound.waitingLimit) = (isServed, .milliseconds(1)) }
    let request = tap.outbound.begin(client: "c", method: "GET", url: "http://host/42")
    let answer = try await Poll.until("the request") {
      let answer = try await tap.get("/page/waits")
      return answer.contains(#""count":1,"#) ? answer : nil
    }
    #expect(answer.hasPrefix("HTTP/1.1 200 "))
    #expect(answer.contains("\r\nContent-Type: application/json\r\n"))
    #expect(answer.contains("\r\nCache-Control: no-store\r\n"))
    #expect(answer.contains(#""client.name":"c""#))
    #expect(answer.contains(#""url.full":"http://host/42""#) == isServed)
    withExtendedLifetime(request) {}
    await tap.shutdown()
  }

  @Test func `an invalid limit is refused with its cause and the remedy`() async throws {
    let tap = try Self.tap()
    for limit in ["-1", "1001", "99999999999999999999", "all", "", "1.5", "%00", "2%0d%0a"] {
      let answer = try await tap.get("/requests?limit=\(limit)")
      expectEqual(answer.hasPrefix("HTTP/1.1 400 "), true, "\(limit)")
      // An escaped NUL is malformed wherever it stands.
      let hasCause = answer.contains("limit must be a number of requests from 0 to 1000\n")
      expectEqual(hasCause, limit != "%00", "\(limit)")
    }
    await tap.shutdown()
  }

  @Test func `of very many requests the oldest thousand are listed, and long URLs make no long answer`()
    async throws
  {
    let tap = try Self.tap { $0.logging.urlLengthLimit = .max }
    let many = (0..<1_002).map { tap.outbound.begin(client: "c", method: "GET", url: "http://h/\($0)") }
    let (few, count) = try await Self.requests(tap)
    #expect(few.count == 1_000 && count == 1_002)
    for request in many { request.cancel() }
    let path = String(repeating: "ü", count: 10_000)
    let requests = (0..<100).map {
      tap.outbound.begin(
        client: "c", method: "GET", url: "http://host/\($0)/\(path)", fields: ["path": .string(path)])
    }
    let (lines, all) = try await Self.requests(tap)
    #expect(all == requests.count)
    let bytes = lines.reduce(0) { $0 + $1.utf8.count + 1 }
    #expect(bytes <= 1 << 20 && bytes > 1 << 19)
    for (number, line) in lines.enumerated() {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect((object?["url.full"] as? String)?.hasPrefix("http://host/\(number)/") == true)
    }
    withExtendedLifetime(requests) {}
    await tap.shutdown()
  }
}
