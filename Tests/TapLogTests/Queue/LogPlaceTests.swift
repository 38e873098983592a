import TestSupport

@testable import TapLog

/// The queue of a place and its thread.
@Suite(.needs(.thread)) struct LogPlaceTests {
  private let sink = CollectingSink()
  private let place: LogPlace

  init() throws {
    let configuration = with(RequestLog.Configuration()) { ($0.queueLineLimit, $0.isQuiet) = (4, true) }
    let faults = LogFaults(of: "under test", isQuiet: true)
    place = try LogPlace(to: SinkOutput(sink: sink, faults: faults), faults, configuration)
  }

  private func add(_ lines: String...) {
    for line in lines { Array("\(line)\n".utf8).withUnsafeBytes { place.enqueue($0, severity: .info) } }
  }

  private var later: Instant { Instant.now.advanced(by: .seconds(120)) }

  @Test func `the output is flushed once behind the lines before it, and closed when all is written`() {
    for flushes in 1...3 {
      add("a", "b")
      for _ in 0..<2 { #expect(place.flush(until: later)) }
      #expect(sink.flushes == flushes)
    }
    add("c")
    place.beginShutdown(until: later)
    #expect(place.endShutdown(by: later))
    #expect(sink.isClosed && sink.flushes == 4 && sink.lines == ["a", "b", "a", "b", "a", "b", "c"])
    add("late")
    #expect(place.flush(until: .now) && place.endShutdown(by: .now))
    #expect(place.statistics.pending == 0 && place.statistics.droppedLines(.shutdown) == 1)
  }

  @Test func `a writer that has given up by itself has not written all, for a flush that comes later`()
    async throws
  {
    let stuck = CollectingSink(isStuck: true)
    let faults = LogFaults(of: "under test", isQuiet: true)
    let place = try LogPlace(to: SinkOutput(sink: stuck, faults: faults), faults, .init())
    func enqueue() { Array("a\n".utf8).withUnsafeBytes { place.enqueue($0, severity: .info) } }
    enqueue()
    place.wake()
    try await stuck.entered.wait("the first write")
    enqueue()
    place.beginShutdown(until: .now)
    stuck.gate.open()
    #expect(!place.flush(until: later))
    #expect(!place.endShutdown(by: later))
    let statistics = place.statistics
    #expect([statistics.lines, statistics.droppedLines, statistics.pending] == [1, 1, 0])
  }
}
