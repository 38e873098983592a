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
    let closed = Gate()
    let sink = GatedSink(onClose: closed)
    let log = try RequestLog(to: .custom(sink))
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
      #expect(log.statistics.lines == 0)
      #expect(log.statistics.droppedLines(.shutdown) == 1)
      #expect(log.statistics.pending == 0)
      sink.gate.open()
      #expect(closed.waitBlocking())
    }
  }

  @Test func `A flush and a shutdown give up each place that is stuck, and count what it has lost`() throws {
    let (first, second, sink) = (GatedSink(), GatedSink(), CollectingSink())
    let log = try RequestLog(to: [.custom(first), .custom(sink), .custom(second)])
    log.log(.info, "stuck")
    for stuck in [first, second] { #expect(stuck.entered.waitBlocking()) }
    #expect(!log.flush(within: .milliseconds(200)))
    #expect(log.statistics.pending == 2)
    #expect(!log.shutdown(within: .zero))
    #expect(log.statistics.droppedLines(.shutdown) == 2)
    #expect(log.statistics.pending == 0 && sink.lines.count == 1)
    for stuck in [first, second] { stuck.gate.open() }
  }

  @Test func `A shutdown ends all places at once: one that waits for another gets its end`() throws {
    let first = GatedSink()
    let second = GatedSink(onClose: first.gate)
    second.gate.open()
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
    #expect(log.statistics.droppedLines(.shutdown) == 1)
    #expect(sink.lines.count == 100)
    #expect(sink.isClosed)
  }
}
