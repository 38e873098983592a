import TapCore
import TestSupport
import Testing

@testable import TapLog

@Suite(.needs(.thread))
struct LineQueueTests {
  private func queue(_ whenFull: RequestLog.FullQueuePolicy = .dropNewest) -> LineQueue {
    LineQueue(
      limits: QueueLimits(bytes: 1_000, lines: 4, whenFull: whenFull, batchDelay: .zero), worker: Worker())
  }

  private func add(_ text: String, to queue: LineQueue) {
    Array(text.utf8).withUnsafeBytes { queue.enqueue($0, severity: .info) }
  }

  /// What the writer is given next: the lines, or the number of lines that are to be flushed.
  private func next(_ queue: LineQueue) -> String {
    var batch = LineBuffer(byteLimit: 1_000, lineLimit: 4)
    var lingering: Instant?
    switch queue.next(into: &batch, at: .now, lingering: &lingering, maintenance: .now) {
    case .write:
      var result = LogOutputResult()
      let text = String(decoding: batch.pieces.0, as: UTF8.self)
      batch.consume(batch.byteCount, into: &result.written)
      queue.account(result)
      return text
    case .flush(let target):
      queue.flushed(through: target, successfully: true)
      return "flush \(target)"
    case .report(let dropped): return "dropped \(dropped.total)"
    case .maintain, .wait: return "nothing"
    case .stop: return "stop"
    }
  }

  @Test
  func `gives the writer what a flush waits for, and what came later in another batch`() {
    let queue = queue()
    for line in ["a\n", "b\n"] { add(line, to: queue) }
    #expect(!queue.flush(until: .now))
    for line in ["c\n", "d\n"] { add(line, to: queue) }
    #expect(next(queue) == "a\nb\n")
    #expect(next(queue) == "flush 2")
    add("e\n", to: queue)
    #expect(next(queue) == "c\nd\ne\n")
    #expect(next(queue) == "nothing")
  }

  @Test
  func `has a flush done although others follow it`() {
    let queue = queue()
    for (index, line) in ["a\n", "b\n", "c\n"].enumerated() {
      add(line, to: queue)
      #expect(!queue.flush(until: .now))
      #expect(next(queue) == (index == 0 ? line : "flush \(index)"))
      if index > 0 { #expect(next(queue) == line) }
    }
    #expect(next(queue) == "flush 3")
    #expect(queue.flush(until: .now))
  }

  @Test
  func `counts dropped lines as done`() {
    let queue = queue(.dropOldest)
    for line in ["a\n", "b\n"] { add(line, to: queue) }
    #expect(!queue.flush(until: .now))
    for line in ["c\n", "d\n", "e\n", "f\n"] { add(line, to: queue) }
    #expect(next(queue) == "flush 2")
    #expect(next(queue) == "dropped 2")
    #expect(next(queue) == "c\nd\ne\nf\n")
    #expect(next(queue) == "nothing")
  }
}
