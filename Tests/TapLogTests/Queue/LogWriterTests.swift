import TestSupport

@testable import TapCore
@testable import TapLog

/// The turns of a writer, one by one and on this thread.
@Suite struct LogWriterTests {
  /// Does with a batch what it is told, write by write, and takes all of it then.
  private final class Output: LogOutput {
    enum Step { case take(Int), drop, busy(Duration), fail }

    private struct State {
      var steps: [Step]
      var calls: [String] = []
    }

    private let state: Mutex<State>

    init(_ steps: [Step]) { state = Mutex(State(steps: steps)) }

    /// The lines that were written, and `flush` and `close`. A report is shown from its counts on.
    var calls: String { state.withLock { $0.calls.joined(separator: " ") } }

    func write(_ batch: inout LineBuffer) -> LogOutputResult {
      let step = state.withLock { $0.steps.isEmpty ? Step.take(.max) : $0.steps.removeFirst() }
      switch step {
      case .take(let count):
        let lines = batch.lines.prefix(count)
        for line in lines {
          let report = line.firstMatch(of: /"event":"session_tap.log.dropped","dropped.(.*)}\n/)?.1
          state.withLock { $0.calls.append(report.map(String.init) ?? String(line.dropLast())) }
        }
        let bytes = lines.joined().utf8.count
        return LogOutputResult(written: batch.take(bytes), bytes: bytes)
      case .drop:
        let bytes = batch.byteCount
        return LogOutputResult(dropped: batch.take(bytes).total, state: .failed("why"))
      case .busy(let pause): return .busy(pause)
      case .fail: return .failed("why")
      }
    }

    func flush() { state.withLock { $0.calls.append("flush") } }

    func maintain(now: Instant) -> Instant { Instant(nanoseconds: .max - 1) }

    func close() { state.withLock { $0.calls.append("close") } }
  }

  /// A writer whose queue is empty but for the batch.
  private struct Run {
    let output: Output
    let writer: LogWriter
    var batch = LineBuffer()

    init(_ steps: Output.Step...) {
      output = Output(steps)
      writer = LogWriter(to: output, LogFaults(of: "under test", isQuiet: true))
    }

    /// Takes new lines if nothing is left of earlier ones, and gives when the writer comes again.
    @discardableResult
    mutating func turn(_ lines: String..., isFlush: Bool = false, isLast: Bool = false) -> Instant {
      var turn = QueueTurn(isNew: batch.isEmpty, isFlush: isFlush, isLast: isLast)
      for line in lines { batch.append(line + "\n") }
      writer.write(&batch, &turn)
      return turn.next
    }

    /// Takes turns until the batch is written.
    mutating func finish() throws {
      let deadline = Deadline()
      while !batch.isEmpty {
        turn()
        try deadline.check("end of the batch")
      }
    }

    var counts: Counts {
      let (statistics, ended) = writer.statistics
      return Counts(
        written: Int(statistics.lines), dropped: statistics.dropped, ended: Int(ended),
        errors: Int(statistics.writeErrors))
    }
  }

  private struct Counts: Equatable {
    var written = 0
    var dropped: Tally<LogDropReason> = [:]
    var ended = 0
    var errors = 0
  }

  /// When it is the output's turn to ask for the next one.
  private let maintenance = Instant(nanoseconds: .max - 1)

  @Test func `what had no room while a batch waits is told behind the next one`() {
    var run = Run(.busy(.seconds(10)))
    let start = Instant.now
    #expect(run.turn("a") >= start.advanced(by: .seconds(10)))
    run.writer.drop(isClosed: false)
    // It comes again at once for the report.
    #expect(run.turn() <= .now && run.output.calls == "a")
    #expect(run.turn("b") == maintenance)
    #expect(run.output.calls == #"a b total":1,"dropped.queue_full":1"#)
    #expect(run.counts == Counts(written: 3, dropped: [.queueFull: 1], ended: 2))
  }

  @Test func `a batch is kept until it can be written, and what has no room meanwhile is the output's fault`()
    throws
  {
    var run = Run(.fail)
    run.turn("a", "b")
    run.writer.drop(isClosed: false)
    #expect(run.counts == Counts(dropped: [.writeError: 1], errors: 1))
    try run.finish()
    run.turn("c", isLast: true)
    #expect(run.output.calls == #"a b c total":1,"dropped.write_error":1 close"#)
    #expect(run.counts == Counts(written: 4, dropped: [.writeError: 1], ended: 3, errors: 1))
  }

  @Test
  func `a flush is one of the output, behind the lines; behind a close nothing flushes or closes again`() {
    var run = Run()
    run.turn("a")
    run.turn("b", isFlush: true)
    run.turn(isFlush: true, isLast: true)
    #expect(run.output.calls == "a b flush flush close" && run.writer.isWhole)
    // A log that gets no thread closes its output, and its queue may get one later.
    run.turn(isFlush: true, isLast: true)
    run.writer.close()
    #expect(run.output.calls == "a b flush flush close")
    #expect(run.counts == Counts(written: 2, ended: 2))
  }

  @Test func `the last turn tells what had no room until then, and not what comes after the end`() {
    var run = Run(.busy(.zero))
    run.turn("a", isLast: true)
    run.writer.drop(isClosed: false)
    run.writer.drop(isClosed: true)
    run.turn(isLast: true)
    #expect(run.output.calls == #"a total":1,"dropped.queue_full":1 close"#)
    #expect(run.counts == Counts(written: 2, dropped: [.queueFull: 1, .shutdown: 1], ended: 1))
  }

  @Test func `behind its deadline nothing is written, told or flushed, though another one is set later`() {
    var run = Run(.busy(.zero))
    run.turn("a", "b", isLast: true)
    run.writer.drop(isClosed: false)
    run.writer.setDeadline(.now)
    run.writer.setDeadline(Instant.now.advanced(by: .seconds(3_600)))
    run.turn(isFlush: true, isLast: true)
    #expect(run.output.calls == "close" && !run.writer.isWhole)
    #expect(run.counts == Counts(dropped: [.queueFull: 1, .shutdown: 2], ended: 2))
  }

  @Test func `it comes again at the deadline, whatever it waits for`() {
    // A failure has a pause of 100 ms.
    for (step, pause) in [(.busy(.seconds(3_600)), .seconds(600)), (.fail, .milliseconds(40))]
      as [(Output.Step, Duration)]
    {
      var run = Run(step)
      let deadline = Instant.now.advanced(by: pause)
      run.writer.setDeadline(deadline)
      let next = run.turn("a")
      #expect(run.batch.isEmpty || next == deadline)
    }
  }

  @Test func `of lines that are abandoned none counts again, whatever becomes of it`() {
    var run = Run(.busy(.zero))
    run.turn("a")
    // Two more are in the queue.
    run.writer.abandon(3)
    run.writer.abandon(3)
    #expect(run.counts == Counts(dropped: [.shutdown: 3], ended: 3))
    run.turn()
    run.turn("b", "c", isFlush: true, isLast: true)
    #expect(run.output.calls == "close" && !run.writer.isWhole)
    #expect(run.counts == Counts(dropped: [.shutdown: 3], ended: 3))
  }

  @Test func `a report that is lost is no dropped line, and the next one has its counts`() throws {
    // Alone, and behind a line that is written.
    var (alone, behind) = (Run(.drop), Run(.take(1), .drop))
    for run in [alone, behind] { run.writer.drop(isClosed: false) }
    alone.turn()
    behind.turn("a")
    let expected = [(0, 0), (1, 1)].map { written, ended in
      Counts(written: written, dropped: [.queueFull: 1], ended: ended, errors: 1)
    }
    #expect([alone.counts, behind.counts] == expected)
    var run = Run(.drop)
    run.writer.drop(isClosed: false)
    run.turn("a")
    #expect(run.counts == Counts(dropped: [.queueFull: 1, .writeError: 1], ended: 1, errors: 1))
    // An output that refuses lines is told of them with others, not alone.
    run.turn()
    #expect(run.output.calls == "")
    try run.finish()
    run.turn("b")
    try run.finish()
    run.turn("c")
    #expect(run.output.calls == #"b c total":2,"dropped.queue_full":1,"dropped.write_error":1"#)
  }

  @Test func `a report that is not written at the deadline is no dropped line`() {
    var run = Run(.fail)
    run.writer.drop(isClosed: false)
    run.turn("a", "b")
    run.writer.setDeadline(.now)
    run.turn(isLast: true)
    #expect(run.output.calls == "close")
    #expect(run.counts == Counts(dropped: [.queueFull: 1, .writeError: 2], ended: 2, errors: 1))
  }
}
