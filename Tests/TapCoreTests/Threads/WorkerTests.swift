import TestSupport

struct WorkerTests {
  /// Notes its turns, and returns what it is told to.
  private final class Job: BackgroundJob {
    private let turns: EventQueue<Void>
    private let results: Mutex<[Instant]>
    private let onRelease: Gate?

    init(in turns: EventQueue<Void>, returning results: [Instant] = [], onRelease: Gate? = nil) {
      self.turns = turns
      self.results = Mutex(results)
      self.onRelease = onRelease
    }

    deinit { onRelease?.open() }

    func run(at now: Instant) -> Instant {
      turns.send()
      return results.withLock { $0.isEmpty ? .never : $0.removeFirst() }
    }
  }

  private let turns = EventQueue<Void>()

  @Test func `a job runs when it is due, and is released when it is done`() async throws {
    let (worker, released) = (Worker(), Gate())
    let due = Instant.now.advanced(by: .milliseconds(20))
    try worker.run(Job(in: turns, returning: [due, .nextTick], onRelease: released))
    for _ in 0..<3 { try await turns.next("a turn") }
    try await released.wait("the release of the job")
  }

  @Test func `what can wait is done with what cannot`() async throws {
    let (worker, job) = (Worker(), Job(in: turns))
    try worker.run(job, by: .now.advanced(by: .seconds(3_600)))
    try worker.run(job)
    try await turns.next("a turn")
  }

  @Test func `a thread that has ended is replaced`() async throws {
    let worker = Worker(idleTime: .microseconds(100))
    let job = Job(in: turns)
    for _ in 0..<20 {
      try worker.run(job)
      try await turns.next("a turn")
    }
  }

  @Test func `a thread for which no work will come ends at once`() async throws {
    struct Reference { weak var worker: Worker? }
    func makeWorker() async throws -> Reference {
      let worker = Worker(idleTime: .seconds(3_600))
      try worker.run(Job(in: turns))
      try await turns.next("a turn")
      worker.end()
      return Reference(worker: worker)
    }
    // The thread holds it.
    let reference = try await makeWorker()
    try await Poll.until("the end of the thread") { reference.worker == nil }
  }
}
