import TestSupport

@testable import TapCore
@testable import TapLog

/// The turns of a writer, one by one and on this thread.
@Suite struct WriterTurnTests {
  /// Does with a batch what it is told, write by write, and takes all of it then.
  private final class Output: LogOutput {
    enum Step { case take(Int), drop, busy(Duration), fail }

    private struct State {
      var steps: [Step]
      var written = ""
      var flushes = 0
      var closes = 0
    }

    private let state: Mutex<State>

    init(_ steps: Step...) { state = Mutex(State(steps: steps)) }

    var written: String { state.withLock { $0.written } }
    var flushes: Int { state.withLock { $0.flushes } }
    var closes: Int { state.withLock { $0.closes } }

    func write(_ batch: inout LineBuffer) -> LogOutputResult {
      let step = state.withLock { $0.steps.isEmpty ? Step.take(.max) : $0.steps.removeFirst() }
      switch step {
      case .take(let count):
        let text = batch.lines.prefix(count).joined()
        state.withLock { $0.written += text }
        return LogOutputResult(written: batch.take(text.utf8.count), bytes: text.utf8.count)
      case .drop:
        let bytes = batch.byteCount
        return LogOutputResult(dropped: batch.take(bytes).total, state: .failed("why"))
      case .busy(let pause): return .busy(pause)
      case .fail: return .failed("why")
      }
    }

    func flush() { state.withLock { $0.flushes += 1 } }

    func close() { state.withLock { $0.closes += 1 } }
  }

  private func writer(_ output: Output, _ recentLines: RecentLines? = nil) -> LogWriter {
    LogWriter(to: output, LogFaults(of: "under test", isQuiet: true), recentLines: recentLines)
  }

  private func turn(
    _ writer: LogWriter, _ batch: inout LineBuffer, isNew: Bool = true, isFlush: Bool = false,
    isLast: Bool = false
  ) -> QueueTurn {
    var turn = QueueTurn(isNew: isNew, isFlush: isFlush, isLast: isLast)
    writer.write(&batch, &turn)
    return turn
  }

  @Test func `what had no room while a batch waits is told behind the next one, and all is kept once`() {
    let output = Output(.busy(.seconds(10)))
    let recent = RecentLines(lines: 9, bytes: 32_768)
    let writer = writer(output, recent)
    var batch = LineBuffer("a\n")
    let start = Instant.now
    let first = turn(writer, &batch)
    #expect(first.next >= start.advanced(by: .seconds(10)))
    writer.drop(isClosed: false)
    let second = turn(writer, &batch, isNew: false)
    #expect(output.written == "a\n")
    // At once, for the report.
    #expect(second.next < .never)
    batch = LineBuffer("b\n")
    let third = turn(writer, &batch)
    #expect(third.next == .never)
    #expect(output.written.hasPrefix("a\nb\n{"))
    #expect(String(decoding: recent.lines(LogQuery()).bytes, as: UTF8.self) == output.written)
  }

  /// A log that gets no thread closes its output, and its queue may get one later.
  @Test func `behind a close no turn flushes, or closes again`() {
    let output = Output()
    let writer = writer(output)
    writer.close()
    var batch = LineBuffer()
    _ = turn(writer, &batch, isFlush: true, isLast: true)
    #expect(output.closes == 1)
    #expect(output.flushes == 0)
  }

  @Test func `the last turn tells what had no room until then`() {
    let output = Output(.busy(.zero))
    let writer = writer(output)
    var batch = LineBuffer("a\n")
    _ = turn(writer, &batch, isLast: true)
    writer.drop(isClosed: false)
    _ = turn(writer, &batch, isNew: false, isLast: true)
    #expect(output.written.hasPrefix("a\n{"))
    #expect(output.written.hasSuffix(#""dropped.total":1,"dropped.queue_full":1}"# + "\n"))
    // The line and the close.
    #expect(writer.statistics.ended == 2)
  }

  @Test func `behind its deadline nothing is written, told or flushed, though another one is set later`() {
    let output = Output(.busy(.zero))
    let writer = writer(output)
    var batch = LineBuffer("a\n", "b\n")
    _ = turn(writer, &batch, isLast: true)
    writer.drop(isClosed: false)
    writer.setDeadline(.now)
    writer.setDeadline(Instant.now.advanced(by: .seconds(3_600)))
    _ = turn(writer, &batch, isNew: false, isFlush: true, isLast: true)
    #expect(output.written.isEmpty && output.flushes == 0)
    let (statistics, ended) = writer.statistics
    #expect(statistics.dropped == [.queueFull: 1, .shutdown: 2])
    // The lines and the close.
    #expect(ended == 3)
  }

  @Test func `it comes again at the deadline, whatever it waits for`() {
    let pausing = writer(Output(.busy(.seconds(3_600))))
    let deadline = Instant.now.advanced(by: .seconds(600))
    pausing.setDeadline(deadline)
    var batch = LineBuffer("a\n")
    let busy = turn(pausing, &batch)
    #expect(busy.next == deadline)
    // A failure has a pause of 50 ms.
    let failing = writer(Output(.fail))
    let soon = Instant.now.advanced(by: .milliseconds(40))
    failing.setDeadline(soon)
    let failed = turn(failing, &batch)
    #expect(batch.isEmpty || failed.next <= soon)
  }

  @Test func `a place that refuses lines is told of them with others, not alone`() {
    let writer = writer(Output(.drop))
    var batch = LineBuffer("a\n")
    let refused = turn(writer, &batch)
    #expect(batch.isEmpty && refused.next == .never)
    _ = turn(writer, &batch)
    #expect(batch.isEmpty)
    #expect(writer.statistics.0.dropped == [.writeError: 1])
  }

  @Test func `a report that is lost behind lines that are written is no dropped line`() {
    let writer = writer(Output(.take(1), .drop))
    writer.drop(isClosed: false)
    var batch = LineBuffer("a\n")
    _ = turn(writer, &batch)
    let (statistics, ended) = writer.statistics
    #expect(statistics.dropped == [.queueFull: 1] && statistics.written == [.info: 1])
    #expect(ended == 1)
  }
}
