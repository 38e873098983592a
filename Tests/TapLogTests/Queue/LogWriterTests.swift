import TestSupport

@testable import TapCore
@testable import TapLog

@Suite(.needs(.thread)) struct LogWriterTests {
  /// Takes lines, or fails, as it is told.
  private final class Output: LogOutput {
    struct State {
      var written = ""
      var flushes = 0
      var closes = 0
      var result = LogOutputResult()
      /// So many batches are taken, and then none.
      var limit = Int.max
      /// So often does it ask to be called again at once.
      var tasks = 0
    }

    let state = Mutex(State())
    /// Sent before each write, which waits at the gate.
    let (writes, gate) = (EventQueue<Void>(), Gate())

    func write(_ batch: inout LineBuffer) -> LogOutputResult {
      writes.send()
      gate.waitBlocking()
      return state.withLock { state in
        guard state.result.state == .ready else { return state.result }
        guard state.limit > 0 else { return .failed("full") }
        state.limit -= 1
        state.written += batch.text
        let bytes = batch.byteCount
        return LogOutputResult(written: batch.take(bytes), bytes: bytes)
      }
    }

    func flush() { state.withLock { $0.flushes += 1 } }

    func maintain(now: Instant) -> Instant {
      state.withLock { state in
        guard state.tasks > 0 else { return .never }
        state.tasks -= 1
        return .now
      }
    }

    func close() { state.withLock { $0.closes += 1 } }

    var written: String { state.withLock { $0.written } }
  }

  private let output = Output()
  private let log: RequestLog

  init() throws {
    let configuration = with(RequestLog.Configuration()) { $0.queueLineLimit = 4 }
    let output = output
    log = try RequestLog(
      to: RequestLog.Destination(.custom) { _, _ throws(RequestLogError) in output },
      configuration: configuration)
  }

  private func add(_ lines: String...) {
    for line in lines { Array(line.utf8).withUnsafeBytes { log.enqueue($0, severity: .info) } }
  }

  private func place() throws -> LogPlace {
    let output = output
    let destination = RequestLog.Destination(.custom) { _, _ throws(RequestLogError) in output }
    return try LogPlace(destination.places[0], .init(), recentLines: nil)
  }

  @Test func `a batch is kept until it can be written, and what had no room is reported`() async throws {
    output.state.withLock { $0.result = .failed("full") }
    output.gate.open()
    add("a\n")
    log.batchEnded()
    // The second comes after the first is counted.
    for _ in 0..<2 { try await output.writes.next("a write") }
    add("b\n", "c\n", "d\n", "e\n", "f\n")
    #expect(log.statistics.droppedLines(.writeError) == 1)
    #expect(log.statistics.pending == 5)
    output.state.withLock { $0.result = LogOutputResult() }
    #expect(log.flush(within: .seconds(120)))
    #expect(output.written.hasPrefix("a\nb\nc\nd\ne\n"))
    #expect(log.statistics.writeErrors >= 1)
    #expect(log.shutdown(within: .seconds(120)))
    #expect(output.written.hasSuffix(#""dropped.total":1,"dropped.write_error":1}"# + "\n"))
    #expect(log.statistics.pending == 0)
  }

  @Test func `the pause behind a failure grows to a second and no further`() async throws {
    output.state.withLock { $0.result = .failed("full") }
    output.gate.open()
    let writer = LogWriter(to: output, LogFaults(of: "under test", isQuiet: true))
    var batch = LineBuffer("a\n")
    var pauses: [Duration] = []
    // Behind 50, 100, 200, 400 and 800 ms comes the first that is cut.
    try await Poll.until("the sixth failure") {
      var turn = QueueTurn(isNew: false, isFlush: false, isLast: false)
      let (start, failures) = (Instant.now, writer.statistics.0.writeErrors)
      writer.write(&batch, &turn)
      #expect(turn.next <= Instant.now.advanced(by: .seconds(1)))
      if writer.statistics.0.writeErrors > failures { pauses.append(start.duration(to: turn.next)) }
      return writer.statistics.0.writeErrors >= 6
    }
    #expect(pauses[0] >= .milliseconds(50))
    // Not the last one: on a machine that stands still for ten seconds they begin anew.
    #expect(pauses.contains { $0 >= .milliseconds(200) })
  }

  @Test func `what is not written at the deadline of a shutdown is dropped and counted`() async throws {
    output.state.withLock { $0.result = .failed("full") }
    output.gate.open()
    add("a\n")
    log.batchEnded()
    for _ in 0..<2 { try await output.writes.next("a write") }
    add("b\n")
    #expect(!log.shutdown(within: .zero))
    #expect(log.statistics.droppedLines(.writeError) == 2)
    add("c\n")
    #expect(log.statistics.droppedLines(.shutdown) == 1)
    #expect(log.statistics.pending == 0)
    try await Poll.until("the close") { output.state.withLock { $0.closes } == 1 }
    #expect(!log.shutdown(within: .seconds(120)))
    #expect(!log.flush(within: .seconds(120)))
    #expect(output.state.withLock { $0.closes } == 1)
  }

  @Test func `a writer that has given up by itself has not written all, for a flush that comes later`()
    async throws
  {
    output.state.withLock { $0.result = .failed("full") }
    output.gate.open()
    let place = try place()
    Array("a\n".utf8).withUnsafeBytes { place.enqueue($0, severity: .info) }
    place.beginShutdown(until: .now)
    try await Poll.until("the close") { output.state.withLock { $0.closes } == 1 }
    #expect(!place.flush(until: Instant.now.advanced(by: .seconds(120))))
    #expect(!place.endShutdown(by: Instant.now.advanced(by: .seconds(120))))
    #expect(place.statistics.droppedLines == 1 && place.statistics.pending == 0)
  }

  @Test func `a line that comes after the close is counted, and no other line tells of it`() async throws {
    let place = try place()
    func enqueue(_ line: String) {
      Array(line.utf8).withUnsafeBytes { place.enqueue($0, severity: .info) }
    }
    enqueue("a\n")
    try await output.writes.next("a write")
    let deadline = Instant.now.advanced(by: .seconds(120))
    place.beginShutdown(until: deadline)
    enqueue("b\n")
    output.gate.open()
    #expect(place.endShutdown(by: deadline))
    #expect(output.written == "a\n")
    #expect(place.statistics.lines == 1 && place.statistics.droppedLines(.shutdown) == 1)
    #expect(place.statistics.pending == 0)
  }

  @Test func `the output does its own work when it is due`() async throws {
    output.state.withLock { $0.tasks = 20 }
    output.gate.open()
    add("a\n")
    try await Poll.until("the work") { output.state.withLock { $0.tasks } == 0 }
  }

  @Test func `a report that is not written at the deadline is no dropped line`() async throws {
    output.state.withLock { $0.limit = 1 }
    add("a\n")
    log.batchEnded()
    try await output.writes.next("a write")
    add("b\n", "c\n", "d\n", "e\n", "f\n")
    #expect(log.statistics.droppedLines(.queueFull) == 1)
    output.gate.open()
    // The next batch ends with the report of that, and fails.
    for _ in 0..<2 { try await output.writes.next("a write") }
    #expect(!log.shutdown(within: .zero))
    #expect(log.statistics.lines == 1)
    #expect(log.statistics.droppedLines == 5)
    #expect(log.statistics.droppedLines(.writeError) == 4)
    #expect(log.statistics.pending == 0)
  }

  @Test func `the output is flushed once behind the lines before it, and closed when all is written`() {
    output.gate.open()
    for flushes in 1...3 {
      add("a\n", "b\n")
      for _ in 0..<2 { #expect(log.flush(within: .seconds(120))) }
      #expect(output.state.withLock { $0.flushes } == flushes)
    }
    add("c\n")
    #expect(log.shutdown(within: .seconds(120)))
    #expect(output.state.withLock { $0.closes == 1 && $0.flushes == 4 })
    #expect(output.written == "a\nb\na\nb\na\nb\nc\n")
    #expect(log.shutdown(within: .zero))
    #expect(log.flush(within: .seconds(120)))
    #expect(log.statistics.pending == 0)
  }
}
