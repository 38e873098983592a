import TapLog
import TestSupport

@Suite(.needs(.thread)) struct RecentLinesTests {
  private func log(lines: Int = 5) throws -> RequestLog {
    try RequestLog.collecting { $0.recentLineLimit = lines }.1
  }

  private func messages(_ bytes: [UInt8]) -> [String] {
    String(decoding: bytes, as: UTF8.self).matches(of: /"message":"([^"]*)"/).map { String($0.1) }
  }

  @Test func `are the newest ones, oldest first, and none unless asked for`() throws {
    let logs = try [log(), log(lines: 0)]
    for log in logs {
      for index in 1...8 { log.log(.info, "\(index)") }
      #expect(log.flush())
    }
    #expect(messages(logs[0].recent()) == ["4", "5", "6", "7", "8"])
    #expect(messages(logs[0].recentLines(LogQuery(limit: 2)).bytes) == ["7", "8"])
    #expect(logs[0].recentLines(LogQuery(limit: -1)).bytes.isEmpty && logs[1].recent().isEmpty)
  }

  @Test func `are found by severity and client`() throws {
    let log = try log(lines: 100)
    log.log(.debug, "a", ["client.name": "x"])
    log.log(.error, "b", ["client.name": "y\"", "note": "\"client.name\":\"x\""])
    log.log(.info, "c", ["list": "a,\"client.name\":\"x\",b", "client.name": "x"])
    log.log(.debug, "d", ["k,\"client.name\":\"x\"": "ends,", "client.name": "x\\"])
    log.requestEnded(with(.bare()) { $0.request.client = "x" })
    #expect(log.flush())
    let queries = [LogQuery(severity: .info)] + ["x", "y\"", "x\\"].map { LogQuery(client: $0) }
    let found: [[UInt8]] = queries.map { log.recentLines($0).bytes }
    #expect(found.map { messages($0).joined() } == ["bc", "ac", "b", "d"])
    // The line of a request has no message.
    #expect(found[1].count { $0 == UInt8(ascii: "\n") } == 3)
  }

  @Test func `are found by their trace, of requests of both directions and of the app's own`() throws {
    let log = try log(lines: 100)
    let trace = TraceContext.random()
    for (name, context) in [("mine", trace.child()), ("other", .random())] {
      log.requestEnded(with(.bare()) { ($0.request.client, $0.request.traceContext) = (name, context) })
    }
    log.log(.info, "by hand", ["trace_id": .string(trace.traceID)])
    log.log(.info, "in a text", ["note": .string("\"trace_id\":\"\(trace.traceID)\"")])
    #expect(log.flush())
    let lines = log.recentLines(LogQuery(traceID: trace.traceID)).bytes
    let names = String(decoding: lines, as: UTF8.self).matches(of: /"(?:client.name|message)":"([^"]*)"/)
    #expect(names.map { String($0.1) } == ["mine", "by hand"])
    #expect(log.recentLines(LogQuery(client: "other", traceID: trace.traceID)).bytes.isEmpty)
    #expect(log.recentLines(LogQuery(traceID: trace.spanID)).bytes.isEmpty)
  }

  @Test func `are asked for from a line on`() throws {
    let before = Timestamp.now.nanosecondsSinceEpoch / 1_000
    let log = try log()
    let start = log.recentLines(LogQuery()).last
    #expect(before <= start && start <= Timestamp.now.nanosecondsSinceEpoch / 1_000)
    func answer(after number: Int64) throws -> String {
      let answer = log.recentLines(try LogQuery(items: [("after", "\(number)")]))
      return "\(messages(answer.bytes).joined(separator: " ")) of \(answer.last - start)"
    }
    #expect(try answer(after: start) == " of 0")
    for index in 1...8 { log.log(.info, "\(index)") }
    #expect(log.flush())
    // Of the first lines some are not kept any more.
    #expect(try answer(after: start) == "4 5 6 7 8 of 8")
    #expect(try answer(after: start + 6) == "7 8 of 8")
    #expect(try answer(after: .max) == " of 8")
    let query = try LogQuery(items: [("after", "\(start + 5)"), ("limit", "1")])
    #expect(messages(log.recentLines(query).bytes) == ["8"])
    // That of an app which is started later begins behind all of these.
    #expect(try self.log().recentLines(LogQuery()).last > start)
  }

  @Test func `have a mebibyte`() throws {
    let log = try log(lines: .max)
    let text = String(repeating: "x", count: 8_000)
    for index in 100..<300 { log.log(.info, "\(index)\(text)") }
    let lines = log.recent()
    #expect(((1 << 20) - 8_200...1 << 20).contains(lines.count))
    let length = lines.count { $0 == UInt8(ascii: "\n") }
    #expect(messages(lines).map { String($0.prefix(3)) } == (300 - length..<300).map { "\($0)" })
  }
}

@Suite struct LogQueryTests {
  @Test func `is read from the items of a URL's query`() throws {
    let query = try LogQuery(items: [
      ("limit", "5"), ("limit", "20"), ("severity", "Warn"), ("client", "payments"), ("other", "1"),
      ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"), ("after", "7"),
    ])
    #expect(query.limit == 20 && query.severity == .warn && query.client == "payments" && query.after == 7)
    #expect(query.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
    let least = try LogQuery(items: [("limit", "0"), ("after", "0")])
    #expect(least.limit == 0 && least.after == 0)
  }

  @Test func `asks for the newest 100 lines, of any kind, by default`() throws {
    for query in try [LogQuery(), LogQuery(items: [])] {
      #expect(query.limit == 100 && query.severity == .trace && query.after == nil)
      #expect(query.client == nil && query.traceID == nil)
    }
  }

  @Test(arguments: [
    ("limit", "-1", "a number of lines, 0 or more"), ("limit", "", "a number of lines, 0 or more"),
    ("limit", "9999999999999999999", "a number of lines, 0 or more"),
    ("after", "-1", "the number of a line, 0 or more"),
    ("after", "last", "the number of a line, 0 or more"),
    ("severity", "loud", "one of TRACE, DEBUG, INFO, WARN, ERROR"),
  ])
  func `says which item has no such value`(name: String, value: String, reason: String) {
    let error = #expect(throws: LogQuery.Invalid.self) { try LogQuery(items: [(name, value)]) }
    #expect(error?.description == "\(name) must be \(reason)")
  }
}
