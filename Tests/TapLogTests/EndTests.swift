import TapLog
import TestSupport

/// Puts another line into the log for each that it is given, until it has had enough.
private final class FeedingSink: LogSink {
  let log = Mutex<RequestLog?>(nil)
  private let rest = Atomic<Int>(100_000)

  func write(_ lines: UnsafeRawBufferPointer) {
    guard rest.wrappingSubtract(1, ordering: .relaxed).newValue > 0 else { return }
    log.withLock { $0 }?.log(.info, "one more")
  }
}

@Suite(.needs(.thread)) struct EndTests {
  @Test func `A flush waits for the lines that came before it, and for no other`() throws {
    let sink = FeedingSink()
    let log = try RequestLog(to: .custom(sink))
    sink.log.withLock { $0 = log }
    log.log(.info, "first")
    #expect(log.flush(within: .seconds(60)))
    #expect(log.statistics.lines < 100_000)
    sink.log.withLock { $0 = nil }
    #expect(log.shutdown())
  }

  @Test func `A shutdown that gives up ends all that wait for the writer, and all that come later`() throws {
    let (sink, log) = try RequestLog.collecting(isStuck: true)
    log.log(.info, "stuck")
    #expect(sink.entered.waitBlocking())
    let calls: [@Sendable () -> Bool] = [
      { log.flush(within: .seconds(Int64.max)) }, { log.shutdown(within: .seconds(Int64.max)) },
      { log.shutdown(within: .seconds(3_600)) },
    ]
    let ends = calls.map { call in
      let end = Gate()
      Thread.detachNewThread { if !call() { end.open() } }
      return end
    }
    #expect(!log.shutdown(within: .milliseconds(20)))
    for end in ends { #expect(end.waitBlocking(seconds: 20)) }
    #expect(!log.shutdown(within: .seconds(3_600)))
    #expect(!log.flush(within: .seconds(3_600)))
    // Nor does the line count as written when the sink goes on after all.
    for _ in 0..<2 {
      let statistics = log.statistics
      #expect([statistics.lines, statistics.droppedLines(.shutdown), statistics.pending] == [0, 1, 0])
      sink.gate.open()
      #expect(sink.closed.waitBlocking())
    }
  }

  @Test func `a place that is stuck keeps no line from the others, and is given up at the deadline`()
    async throws
  {
    let (first, second, sink) = (
      CollectingSink(isStuck: true), CollectingSink(isStuck: true), CollectingSink()
    )
    let places: RequestLog.Destination = [.custom(first), .custom(sink), .memory, .custom(second)]
    let log = try RequestLog(to: places, configuration: with(.init()) { $0.recentLineLimit = 100 })
    log.log(.info, "1")
    log.batchEnded()
    for stuck in [first, second] { try await stuck.entered.wait("the write that hangs") }
    for number in 2...5 { log.log(.info, "\(number)") }
    log.batchEnded()
    try await Poll.until("lines of the other place") { sink.lines.count == 5 }
    #expect(!log.flush(within: .milliseconds(200)))
    try await Poll.until("the flush of the other place") { sink.flushes > 0 }
    #expect(log.statistics.pending == 10)
    #expect(!log.shutdown(within: .zero))
    let statistics = log.statistics
    #expect([statistics.lines, statistics.droppedLines(.shutdown), statistics.pending] == [10, 10, 0])
    // Each line is shown once.
    let recent = String(decoding: log.recent(), as: UTF8.self)
    #expect(recent == sink.text && Int(statistics.bytes) == 2 * recent.utf8.count)
    #expect(sink.closed.waitBlocking())
    for stuck in [first, second] { stuck.gate.open() }
  }

  @Test func `A shutdown ends all places at once: one that waits for another gets its end`() throws {
    let first = CollectingSink(isStuck: true)
    let second = CollectingSink(closed: first.gate)
    let log = try RequestLog(to: [.custom(first), .custom(second)])
    log.log(.info, "line")
    #expect(log.shutdown(within: .seconds(100)))
    #expect(log.statistics.lines == 2)
  }

  @Test func `shutdowns from many threads end together, and every line is written`() async throws {
    let (sink, log) = try RequestLog.collecting()
    for _ in 0..<100 { log.log(.info, "line") }
    let results = await withTaskGroup(of: Bool.self) { group in
      for index in 0..<8 { group.addTask { index.isMultiple(of: 2) ? log.shutdown() : log.flush() } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results == Array(repeating: true, count: 8))
    #expect(log.shutdown())
    #expect(log.flush(within: .zero))
    log.log(.info, "too late")
    #expect(log.statistics.droppedLines(.shutdown) == 1 && sink.lines.count == 100 && sink.isClosed)
  }
}
