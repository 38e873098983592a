import Synchronization
import TapCore
import TestSupport
import Testing

struct WorkerTests {
  /// Notes its turns, and returns what it is told to.
  private final class Job: BackgroundJob {
    private let name: String
    private let turns: EventQueue<String>
    private let results: Mutex<[Instant?]>

    init(_ name: String, in turns: EventQueue<String>, returning results: [Instant?]) {
      self.name = name
      self.turns = turns
      self.results = Mutex(results)
    }

    func run(at now: Instant) -> Instant? {
      turns.send(name)
      return results.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
  }

  private let turns = EventQueue<String>()

  private func next() async throws -> String { try await turns.next("a turn") }

  @Test func `a new job runs before those that are there, and they run with it`() async throws {
    let worker = Worker()
    let old = Job("old", in: turns, returning: [.never, .never, .never])
    let new = Job("new", in: turns, returning: [nil, nil])
    try worker.run(old)
    #expect(try await next() == "old")
    for _ in 0..<2 {
      try worker.run(new)
      #expect(try await next() == "new")
      #expect(try await next() == "old")
    }
  }

  @Test func `a job runs when it is due, and is forgotten when it is done`() async throws {
    let worker = Worker()
    let due = Instant.now.advanced(by: .milliseconds(20))
    try worker.run(Job("again", in: turns, returning: [due, .nextTick, nil]))
    for _ in 0..<3 { #expect(try await next() == "again") }
    try worker.run(Job("other", in: turns, returning: []))
    #expect(try await next() == "other")
  }

  @Test func `what can wait is done with what cannot`() async throws {
    let worker = Worker()
    try worker.run(Job("later", in: turns, returning: []), by: .now.advanced(by: .seconds(3_600)))
    try worker.run(Job("now", in: turns, returning: []))
    #expect(try await next() == "now")
    #expect(try await next() == "later")
  }

  @Test func `a thread that has ended is replaced`() async throws {
    let worker = Worker(rest: .microseconds(100))
    let job = Job("job", in: turns, returning: [nil, .never, nil, .never])
    for _ in 0..<20 {
      try worker.run(job)
      #expect(try await next() == "job")
    }
  }
}
