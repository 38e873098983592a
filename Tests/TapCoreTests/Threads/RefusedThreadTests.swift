import TestStart
import TestSupport

@testable import TapCore

/// What waits for a thread that the system refuses. Each in a process of its own, in which all starts can be
/// refused.
@Suite(.needs(.program)) struct RefusedThreadTests {
  private static let deadline = Duration.seconds(60)

  /// A queue whose batches go to `batches`.
  private static func queue(_ batches: EventQueue<[Int]>) -> BoundedQueue<[Int]> {
    BoundedQueue { batch, _ in
      if !batch.isEmpty { batches.send(batch) }
      batch.removeAll()
    }
  }

  @Test func `a queue gets its thread with the next element, however many waited`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let batches = EventQueue<[Int]>()
      let queue = Self.queue(batches)
      refuse_threads(-1)
      for number in 0..<200 { queue.add { $0.append(number, limit: 100, many: 50) } }
      refuse_threads(0)
      queue.add { $0.append(200, limit: 100, many: 50) }
      let batch = try await batches.next("a batch")
      #expect(batch == Array(0..<100))
      // Also one that is neither the first, nor one of many, nor too much.
      let other = Self.queue(batches)
      refuse_threads(-1)
      for number in 0..<2 { other.add { $0.append(number, limit: 100, many: 50) } }
      refuse_threads(0)
      other.add { $0.append(2, limit: 100, many: 50) }
      let next = try await batches.next(seconds: 60, "a batch of the other")
      #expect(next == [0, 1, 2])
      exit(queue.droppedCount == 101 ? 7 : 1)
    }
  }

  @Test func `a flush does the work itself, and does not wait for a thread`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let batches = EventQueue<[Int]>()
      let queue = Self.queue(batches)
      refuse_threads(-1)
      // Who starts it is told at once.
      if (try? queue.start()) != nil || queue.wake() { exit(2) }
      queue.add { $0.append(1, limit: 4, many: 2) }
      #expect(queue.flush(until: .now.advanced(by: Self.deadline)))
      let batch = try await batches.next("a batch")
      #expect(batch == [1])
      // The last turn, too.
      queue.close()
      #expect(queue.flush(until: .now.advanced(by: Self.deadline)))
      // Where no flush follows, the next start of any thread does it.
      let other = Self.queue(batches)
      other.add { $0.append(2, limit: 4, many: 2) }
      other.close()
      refuse_threads(0)
      try BackgroundThread.start {}
      let last = try await batches.next("the last batch")
      #expect(last == [2])
      exit(7)
    }
  }

  @Test func `after a thousand refusals a thread is tried once a millisecond`() async {
    await #expect(processExitsWith: .success) {
      final class Idle: BackgroundJob { func run(at now: Instant) -> Instant { .never } }
      let (worker, job, start) = (Worker(), Idle(), Instant.now)
      refuse_threads(-1)
      for _ in 0..<20_000 { try? worker.run(job) }
      let milliseconds = start.duration(to: .now).nanoseconds / 1_000_000
      #expect(1_000...1_001 + Int(milliseconds) ~= Int(BackgroundThread.refusedCount))
      refuse_threads(0)
      try await Poll.until("a thread") { (try? worker.run(job)) != nil }
    }
  }

  @Test(.serialized, arguments: [false, true])
  func `observers are called after the next request, or the next scrape`(isScrape: Bool) async throws {
    try ExitValues.give("RefusedThreadTests", isScrape)
    await #expect(processExitsWith: .exitCode(7)) {
      let isScrape = try ExitValues.take("RefusedThreadTests", Bool.self)
      let (registry, ends) = (Registry(), [EventQueue<Int>(), EventQueue<Int>()])
      // The tracer's calls wait by themselves.
      let recorder = try RequestRecorder(
        registry: registry, consumers: [],
        observers: [CallingObserver(ended: { ends[0].send($0.statusCode ?? 0) })],
        tracer: with(CallingTracer()) { $0.ended = { ends[1].send($0.statusCode ?? 0) } })
      refuse_threads(-1)
      func serve(_ status: Int) { recorder.inbound.begin(method: "GET", path: "/").end(statusCode: status) }
      for status in 0..<50 { serve(status) }
      if isScrape {
        recorder.drain()
        refuse_threads(0)
        _ = registry.exposition()
      } else {
        refuse_threads(0)
        serve(50)
      }
      for ends in ends {
        for status in 0..<(isScrape ? 50 : 51) { #expect(try await ends.next("an end") == status) }
      }
      exit(7)
    }
  }

  /// What is left of a body that was to run on a thread.
  private struct Body { weak var gate: Gate? }

  /// - Parameter isLater: It may run later.
  private static func start(isLater: Bool, _ ran: EventQueue<String>) -> Body {
    let gate = Gate()
    let body: @Sendable () -> Void = {
      gate.open()
      ran.send("later")
    }
    let isStarted =
      isLater ? BackgroundThread.startNowOrLater(body) : (try? BackgroundThread.start(body)) != nil
    if isStarted { exit(1) }
    return Body(gate: gate)
  }

  @Test func `each is counted, a row of them is reported once, and what is postponed runs later`()
    async throws
  {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let registry = Registry()
      _ = try RequestRecorder(registry: registry)
      let ran = EventQueue<String>()
      refuse_threads(-1)
      // Nothing is kept of what never runs.
      for _ in 0..<9 where Self.start(isLater: false, ran).gate != nil { exit(2) }
      // At most 64 are kept.
      let postponed = (0..<64).map { _ in Self.start(isLater: true, ran) }
      if Self.start(isLater: true, ran).gate != nil { exit(3) }
      let result = await BackgroundThread.run { "on this thread" }
      #expect(result == "on this thread")
      #expect(registry.value(of: "session_tap_refused_threads_total") == 75)
      refuse_threads(0)
      try BackgroundThread.start {}
      for _ in 0..<64 { #expect(try await ran.next(seconds: 60, "a postponed body") == "later") }
      if !BackgroundThread.startNowOrLater({ ran.send("now") }) { exit(4) }
      #expect(try await ran.next("the body that runs now") == "now")
      // Each once: nothing is kept of them.
      try await Poll.until(seconds: 60, "the release of the bodies") {
        postponed.allSatisfy { $0.gate == nil }
      }
      exit(7)
    }
    let lines = try #require(result).said.filter { $0.contains("cannot start a thread") }
    #expect(
      lines == [
        "session-tap: cannot start a thread: Resource temporarily unavailable; it is tried again when one is "
          + "needed (raise the limit of tasks: ulimit -u, pids.max of the cgroup)"
      ])
  }
}
