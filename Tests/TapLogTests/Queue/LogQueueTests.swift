import Synchronization
import TapCore
import TestSupport
import Testing

@testable import TapLog

/// What the worker does, turn by turn: on the thread of the test.
@Suite(.needs(.thread)) struct LogQueueTests {
  /// Takes lines, or fails, as it is told.
  private final class Output: LogOutput {
    struct State {
      var written: [String] = []
      var flushes = 0
      var isClosed = false
      var result = LogOutputResult()
    }

    let state = Mutex(State())

    func write(_ batch: inout LineBuffer) -> LogOutputResult {
      state.withLock { state in
        guard state.result.state == .ready else { return state.result }
        state.written.append(batch.text)
        let bytes = batch.byteCount
        return LogOutputResult(written: batch.take(bytes), bytes: bytes)
      }
    }

    func flush() -> Bool {
      state.withLock { $0.flushes += 1 }
      return true
    }

    func close() { state.withLock { $0.isClosed = true } }
  }

  /// Occupies a worker, so that only the test runs the queue.
  private final class Occupation: BackgroundJob {
    let (entered, gate) = (Gate(), Gate())

    func run(at now: Instant) -> Instant? {
      entered.open()
      gate.waitBlocking()
      return nil
    }
  }

  private let output = Output()
  private let queue: LogQueue
  private let occupation = Occupation()

  init() throws {
    let worker = Worker()
    try worker.run(occupation)
    occupation.entered.waitBlocking()
    queue = LogQueue(to: output, limits: (bytes: 1_000, lines: 4), worker: worker)
  }

  private func add(_ lines: String...) {
    for line in lines { Array(line.utf8).withUnsafeBytes { queue.append($0, severity: .info) } }
  }

  /// What is written in the worker's next turn.
  private func turn() -> [String] {
    _ = queue.run(at: .now)
    return output.state.withLock { state in
      defer { state.written = [] }
      return state.written
    }
  }

  @Test func `writes all lines that there are at once`() {
    defer { occupation.gate.open() }
    add("a\n", "b\n")
    #expect(turn() == ["a\nb\n"])
    #expect(turn() == [])
    #expect(queue.statistics.lines == 2)
    #expect(output.state.withLock { $0.flushes } == 0)
  }

  @Test func `has a flush done with the batch that the lines are in`() {
    defer { occupation.gate.open() }
    for flushes in 1...3 {
      add("a\n")
      #expect(!queue.flush(until: .now))
      add("b\n")
      #expect(turn() == ["a\nb\n"])
      #expect(queue.flush(until: .now))
      #expect(turn() == [])
      #expect(output.state.withLock { $0.flushes } == flushes)
    }
  }

  @Test func `reports behind the lines that filled the queue what found no room`() {
    defer { occupation.gate.open() }
    add("a\n", "b\n", "c\n", "d\n", "e\n", "f\n")
    let written = turn()
    #expect(written.count == 1)
    #expect(written.first?.hasPrefix("a\nb\nc\nd\n{\"timestamp\"") == true)
    #expect(written.first?.hasSuffix(#""dropped":2,"dropped.queue_full":2}"# + "\n") == true)
    #expect(turn() == [])
    #expect(queue.statistics.lines == 5)
  }

  @Test func `keeps a batch until it can be written, then reports what found no room meanwhile`() {
    defer { occupation.gate.open() }
    output.state.withLock { $0.result = .failed }
    add("a\n")
    #expect(turn() == [])
    add("b\n", "c\n", "d\n", "e\n", "f\n")
    #expect(queue.statistics.droppedLines(.writeError) == 1)
    #expect(queue.statistics.pending == 5)
    output.state.withLock { $0.result = .busy(.zero) }
    #expect(turn() == [])
    output.state.withLock { $0.result = LogOutputResult() }
    // After the pause that follows a failure.
    var written: [String] = []
    let deadline = Instant.now.advanced(by: .seconds(60))
    while written.isEmpty, .now < deadline { written = turn() }
    #expect(written == ["a\n"])
    #expect(turn().first?.hasPrefix("b\nc\nd\ne\n{\"timestamp\"") == true)
    #expect(queue.statistics.pending == 0)
    #expect(queue.statistics.writeErrors == 1)
  }

  @Test func `gives up what is not written at the deadline of a shutdown`() {
    defer { occupation.gate.open() }
    output.state.withLock { $0.result = .failed }
    add("a\n")
    #expect(turn() == [])
    add("b\n")
    queue.beginShutdown(until: .now)
    #expect(turn() == [])
    #expect(queue.statistics.droppedLines(.writeError) == 2)
    #expect(output.state.withLock { $0.isClosed })
    add("c\n")
    #expect(queue.statistics.droppedLines(.shutdown) == 1)
    #expect(queue.run(at: .now) == nil)
  }

  @Test func `closes its output when all is written`() {
    defer { occupation.gate.open() }
    add("a\n")
    queue.beginShutdown(until: .never)
    #expect(turn() == ["a\n"])
    #expect(output.state.withLock { $0.isClosed && $0.flushes == 1 })
    #expect(queue.shutdown(until: .now))
  }
}
