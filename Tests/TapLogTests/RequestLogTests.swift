import TapLog
import TestSupport

@Suite(.needs(.thread)) struct RequestLogTests {
  @Test func `exposes its counters through a registry`() throws {
    let (sink, log) = try RequestLog.collecting { $0.clientSampling = ["quiet": LogSampling(rate: 0)] }
    let registry = Registry()
    try registry.register(log)
    for (code, count) in [(200, 1), (404, 2), (503, 3)] {
      for _ in 0..<count { log.requestEnded(.bare(.response(statusCode: code))) }
    }
    for _ in 0..<4 { log.requestEnded(with(.bare()) { $0.request.client = "quiet" }) }
    log.shutdown()
    for _ in 0..<6 { log.requestEnded(.bare()) }
    let bytes = sink.lines.reduce(0) { $0 + $1.utf8.count + 1 }
    let expected: [String: Double] = [
      #"lines_total{level="TRACE"}"#: 0, #"lines_total{level="DEBUG"}"#: 0,
      #"lines_total{level="INFO"}"#: 1, #"lines_total{level="WARN"}"#: 2,
      #"lines_total{level="ERROR"}"#: 3, #"dropped_lines_total{reason="queue_full"}"#: 0,
      #"dropped_lines_total{reason="write_error"}"#: 0, #"dropped_lines_total{reason="shutdown"}"#: 6,
      #"filtered_lines_total{reason="sampling"}"#: 4,
      #"filtered_lines_total{reason="waits"}"#: 0, "bytes_total": Double(bytes), "write_errors_total": 0,
    ]
    var values: [String: Double] = [:]
    for (series, value) in registry.lines.values where series.hasPrefix("session_tap_log_") {
      values[String(series.dropFirst("session_tap_log_".count))] = value
    }
    #expect(values == expected)
    #expect(log.collect().allSatisfy { $0.kind == .counter })
    #expect(log.statistics.filteredLines == 4 && log.statistics.pending == 0)
  }

  @Test func `writes what is left when its last reference goes`() async throws {
    let sink = CollectingSink(isStuck: true)
    do {
      let log = try RequestLog(to: .custom(sink))
      for _ in 0..<100 { log.requestEnded(.bare()) }
    }
    sink.gate.open()
    try await sink.closed.wait("close")
    #expect(sink.lines.count == 100)
  }

  @Test
  func `drops the newest lines while the sink is stuck, reports them at their place, and waits not`() throws {
    let (sink, log) = try RequestLog.collecting(isStuck: true) { $0.queueLineLimit = 10 }
    log.log(.info, "0")
    #expect(sink.entered.waitBlocking())
    for index in 1...30 { log.log(.info, "\(index)") }
    #expect(log.statistics.droppedLines(.queueFull) == 20 && log.statistics.pending == 11)
    #expect(!log.flush(within: .milliseconds(1)))
    sink.gate.open()
    #expect(log.flush())
    log.log(.info, "after")
    #expect(log.shutdown())
    // Twelve that came in, and the line that tells of the others.
    #expect(log.statistics.lines == 13 && log.statistics.lines(.warn) == 1)
    let text = sink.text
    let messages = text.matches(of: /"(?:message":"|dropped.total":)(\w+)/).map { String($0.1) }
    #expect(messages.joined(separator: " ") == "0 1 2 3 4 5 6 7 8 9 10 20 after")
    #expect(text.contains(#""event":"session_tap.log.dropped","dropped.total":20,"dropped.queue_full":20}"#))
  }

  @Test(arguments: [(40_000, 99, 36), (0, 99, 30), (1 << 20, 1, 1), (1 << 20, 0, 1), (1 << 20, -1, 1)])
  func `drops what exceeds the queue's bytes, of which there are 32 KiB at least`(
    limit: Int, lineLimit: Int, waiting: Int
  ) throws {
    let (sink, log) = try RequestLog.collecting(isStuck: true) {
      ($0.queueByteLimit, $0.queueLineLimit) = (limit, lineLimit)
    }
    log.log(.info, "first")
    #expect(sink.entered.waitBlocking())
    for _ in 0..<100 { log.log(.info, String(repeating: "x", count: 1_000)) }
    // A line has 1,090 bytes.
    #expect(Int(log.statistics.pending) == 1 + waiting)
    #expect(Int(log.statistics.droppedLines(.queueFull)) == 100 - waiting)
    sink.gate.open()
    #expect(log.shutdown())
  }

  @Test func `writes lines of the app's own among the others`() throws {
    let (sink, log) = try RequestLog.collecting {
      // Lines of requests have no message, and would show it.
      $0.fields = ["service.name": "shop", "message": "of every line"]
    }
    log.log(.warn, "cache\nwarmed", ["entries": 42, "client.name": "payments", "message": "forged"])
    log.log(.info, "plain")
    #expect(log.shutdown())
    let line = try #require(sink.lines.first)
    #expect(line.wholeMatch(of: /\{"timestamp":"[-0-9T:.]{26}Z","severity":"WARN",.*/) != nil)
    let ends = sink.lines.map { $0.dropFirst(61) }
    let expected = #"""
      "event":"app","message":"cache\nwarmed","service.name":"shop","client.name":"payments","entries":42,\#
      "dropped_attributes_count":1}
      "event":"app","message":"plain","service.name":"shop"}
      """#
    #expect(ends == expected.split(separator: "\n"))
  }

  @Test func `gives a line of the app's own the trace of the request that is being served`() throws {
    let (sink, log) = try RequestLog.collecting()
    let trace = try #require(
      TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    TraceContext.$current.withValue(trace) {
      log.log(.info, "served")
      log.log(.info, "of another", ["trace_id": "other"])
      log.log(.info, "of another", ["span_id": "other"])
    }
    log.log(.info, "outside")
    #expect(log.shutdown())
    let members = #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331""#
    let ends = sink.lines.map { $0.split(separator: #""message":"#).last }
    let expected = [
      #""served",\#(members)}"#, #""of another","trace_id":"other"}"#, #""of another","span_id":"other"}"#,
      #""outside"}"#,
    ]
    #expect(ends == expected.map { $0[...] })
  }

  @Test func `a log that cannot open one of its places opens none`() throws {
    let sink = CollectingSink()
    #expect(throws: RequestLogError.self) {
      try RequestLog(to: [.custom(sink), .file("/no/such/requests.jsonl")])
    }
    #expect(sink.closed.waitBlocking())
    let usesStandardStreams = try [[.memory], [.standardError, .memory], [.standardOutput], []].map {
      try RequestLog(to: RequestLog.Destination($0)).usesStandardStreams
    }
    #expect(usesStandardStreams == [false, true, true, false])
  }

  @Test func `a log has 16 places at most, and without any its lines are in memory`() throws {
    let places = (0..<17).map { _ in RequestLog.Destination.custom(CollectingSink()) }
    let error = #expect(throws: RequestLogError.self) { try RequestLog(to: .init(places)) }
    #expect(error?.code == .cannotOpen)
    #expect(error?.description == "a log has at most 16 places, not 17; name fewer")
    #expect(try RequestLog(to: .init(Array(places.dropLast()))).shutdown())
    let log = try RequestLog(to: [], configuration: with(.init()) { $0.recentLineLimit = 1 })
    log.write("kept")
    #expect(log.statistics.lines == 1 && UInt64(log.recent().count) == log.statistics.bytes)
  }
}
