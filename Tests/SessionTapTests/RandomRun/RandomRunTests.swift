import SessionTap
import TestSupport

/// Exactly one end: whatever happens to many requests, each is recorded once, and nothing stays behind.
///
/// `Tests/Scripts/run-random-requests` makes more of them; `Tests/Scripts/soak` scrapes meanwhile, and
/// compares the memory with that of a run without a tap.
@Suite(.needs(.processor)) struct RandomRunTests {
  private static let requests = number("RANDOM_REQUESTS") ?? 2_000
  private static let seed = number("RANDOM_SEED") ?? 20_261_121

  private static func number(_ variable: String) -> Int? {
    ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
  }

  /// Also those that are cancelled as they end: without the tap such a process ends in Foundation sooner or
  /// later.
  @Test(.serialized, arguments: [false, true])
  func `every request ends once and leaves nothing behind`(cancelsEnding: Bool) async throws {
    let count = cancelsEnding ? min(Self.requests / 2, 5_000) : Self.requests
    try ExitValues.give("RandomRunTests", count, Self.seed, cancelsEnding)
    let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let (count, seed, cancelsEnding) = try ExitValues.take("RandomRunTests", Int.self, Int.self, Bool.self)
      alarm(UInt32(clamping: 300 + count / 20))
      try await Self.run(count, UInt64(bitPattern: Int64(seed)), cancelsEnding: cancelsEnding)
    }
    print(String(decoding: result?.standardOutputContent ?? [], as: UTF8.self))
  }

  private static func run(_ count: Int, _ seed: UInt64, cancelsEnding: Bool) async throws {
    let folder = try TemporaryFolder()
    let registry = Registry()
    let log = try RequestLog(to: .file(folder("requests.jsonl")))
    let recorder = try RequestRecorder(registry: registry, consumers: [log])
    let snapshot = ActiveRequestsWatch()
    let run = try RandomRun(tap: URLSessionTap(recorder: recorder), watch: snapshot)
    let watch = ScrapeWatch {
      snapshot.look { recorder.activeRequests() }
      return 0
    }
    let unstarted = try await run.run(count: count, seed: seed, cancelsEnding: cancelsEnding)
    _ = await watch.end()
    // None is listed that has ended, and none is missing that hangs.
    let seen = snapshot.seen
    #expect(seen.faults.isEmpty)
    #expect(seen.listed > 0 && (cancelsEnding || seen.hanging > 0))
    print("active: \(seen.looks) looks at \(seen.listed) requests, of which \(seen.hanging) hung")
    print(seen.faults.prefix(9))
    #expect(recorder.activeRequests().isEmpty)
    // Foundation lets go of a loader after the app has heard of the end.
    try await Poll.until("no live loader") { recorder.requestCount == 0 }
    recorder.drain()
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        log.shutdown(within: .seconds(10))
        continuation.resume()
      }
    }
    let started = count - unstarted
    let books = Books(registry.text)
    #expect((books.started, books.ended, books.active) == (Double(started), Double(started), 0))
    // The first part of the path is the request's number.
    let numbers = try folder.lines("requests.jsonl").compactMap {
      $0.firstMatch(of: /"url.full":"http:\/\/[^\/]*\/(\d+)\//)?.1
    }
    #expect(numbers.count == started)
    #expect(Set(numbers).count == started)
  }
}
