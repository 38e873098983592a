import SessionTap
import TestSupport

@Suite struct ServedLogTests {
  private static func tap(_ change: (inout Tap.Configuration) -> Void = { _ in }) throws -> Tap {
    try Tap.start(
      .test {
        $0.servesLog = true
        change(&$0)
      })
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
    // By its number a reader gets what is newer.
    let last = try #require(tap.requestLog).recentLines(LogQuery()).last
    for (query, messages) in [("", ["0", "1", "2", "3", "4"]), ("?severity=error", ["4"])] {
      let answer = try await tap.get("/logs\(query)")
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\r\nSession-Tap-Last-Line: \(last)\r\n"))
      #expect(answer.contains("\r\nContent-Type: application/x-ndjson; charset=utf-8\r\n"))
      #expect(answer.matches(of: /"message":"([^"]*)","n":42/).map { String($0.1) } == messages)
    }
    let refusal = try await tap.get("/logs?severity=loud")
    #expect(refusal.hasPrefix("HTTP/1.1 400 "))
    #expect(refusal.contains("\r\n\r\n400 Bad Request: severity must be one of "))
    #expect(try await tap.get("/").contains("data-log=\"yes\""))
    await tap.shutdown()
  }

  @Test func `a request that is refused is a warning in the log, unless the app is told`() async throws {
    let folder = try TemporaryFolder()
    try folder.write("secret\n", to: "tokens")
    let refusals = Watched<[String]>([])
    let taps = try [true, false].map { isLogged in
      try Self.tap {
        $0.endpoint?.access.bearerTokenFile = folder("tokens")
        if !isLogged { $0.endpoint?.logRefusal = { line in refusals.change { $0.append(line) } } }
      }
    }
    for tap in taps {
      for path in ["/metrics", "/logs", "/requests"] {
        #expect(try await tap.get(path).hasPrefix("HTTP/1.1 401 "))
      }
      await tap.shutdown()
    }
    let warnings = try taps.map { try $0.logLines.filter { $0.row("severity") == "WARN" } }
    #expect(warnings[0].first?.row("message").contains("401") == true && warnings[1].isEmpty)
    try await refusals.wait("a refusal") { $0.first?.contains("401") == true }
  }

  /// The lines of an answer of `/requests`, and how many requests there are.
  private static func requests(
    _ tap: Tap, _ query: String = ""
  ) async throws -> (lines: [JSONMembers], size: Int, all: Int?) {
    let answer = try await tap.get("/requests\(query)")
    let body = try RawClient.body(of: answer)
    let head = [
      "HTTP/1.1 200 ", "Content-Type: application/x-ndjson; charset=utf-8\r\n", "Cache-Control: no-store",
    ]
    #expect(head.allSatisfy(answer.contains) && (body.isEmpty || body.hasSuffix("\n")))
    let all = answer.firstMatch(of: /Session-Tap-Active-Requests: (\d+)/)?.1
    return (try jsonObjects(body), body.utf8.count, all.flatMap { Int($0) })
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
    let rows = listed.lines.map {
      $0.row("event", "waiting_for", "url.full", "url.path", "tenant", "http.response.status_code")
    }
    #expect(
      rows == [
        "http.client.request.waiting response http://host:81/0?token=REDACTED - - -",
        "http.server.request.waiting client - /1 acme 201",
        "http.client.request.waiting response http://host/2 - - -",
      ])
    #expect(listed.all == 3 && listed.lines.first?.row("trace_id") == first.trace.traceID)
    let ages = listed.lines.compactMap { $0.number("duration_s") }
    #expect(ages.count == 3 && ages == ages.sorted(by: >) && ages.allSatisfy { $0 >= 0 })

    let limits = ["2": 2, "%32": 2, "9&limit=0": 0, "1000&x=y": 3]
    for (limit, count) in limits {
      listed = try await Self.requests(tap, "?limit=\(limit)")
      #expect(listed.lines.count == count && listed.all == 3, "\(limit)")
    }
    // An escaped NUL is malformed wherever it stands.
    let problem = "limit must be a number of requests from 0 to 1000\n"
    for limit in ["-1", "1001", "99999999999999999999", "all", "", "1.5", "2%0d%0a", "%00"] {
      let answer = try await tap.get("/requests?limit=\(limit)")
      #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.contains(problem) == (limit != "%00"), "\(limit)")
    }
    first.end(statusCode: 200)
    listed = try await Self.requests(tap)
    #expect(listed.all == 2 && listed.lines.first?.row("url.path") == "/1")
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
    let waits = try await Poll.until("the request") {
      let answer = try await tap.get("/page/waits")
      return answer.contains(#""count":1,"#) ? answer : nil
    }
    for answer in [waits, try await tap.get("/page/history")] {
      let head = [
        "HTTP/1.1 200 ", "\r\nContent-Type: application/json\r\n", "\r\nCache-Control: no-store\r\n",
      ]
      #expect(head.allSatisfy(answer.contains))
    }
    #expect(
      waits.contains(#""client.name":"c""#) && waits.contains(#""url.full":"http://host/42""#) == isServed)
    withExtendedLifetime(request) {}
    await tap.shutdown()
  }

  @Test func `of very many requests the oldest thousand are listed, and long URLs make no long answer`()
    async throws
  {
    let tap = try Self.tap()
    let many = (0..<1_002).map { tap.outbound.begin(client: "c", method: "GET", url: "http://h/\($0)") }
    let few = try await Self.requests(tap)
    #expect(few.lines.count == 1_000 && few.all == 1_002)
    for request in many { request.cancel() }
    let path = String(repeating: "ü", count: 10_000)
    let requests = (0..<400).map {
      tap.outbound.begin(
        client: "c", method: "GET", url: "http://host/\($0)/\(path)", fields: ["path": .string(path)])
    }
    let listed = try await Self.requests(tap)
    #expect(listed.all == requests.count && listed.size <= 1 << 20 && listed.size > 1 << 19)
    for (number, line) in listed.lines.enumerated() {
      #expect(line.row("url.full").hasPrefix("http://host/\(number)/"))
    }
    withExtendedLifetime(requests) {}
    await tap.shutdown()
  }
}
