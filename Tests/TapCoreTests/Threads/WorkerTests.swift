import TestSupport

struct WorkerTests {
  /// Notes its turns, and returns what it is told to.
  private final class Job: BackgroundJob {
    private let turns: EventQueue<Void>
    private let results: Mutex<[Instant]>
    private let onRelease: Gate?
    private let mayReturn: Gate?

    /// - Parameter mayReturn: What its turns wait for.
    init(
      in turns: EventQueue<Void>, returning results: [Instant] = [], onRelease: Gate? = nil,
      when mayReturn: Gate? = nil
    ) {
      self.turns = turns
      self.results = Mutex(results)
      (self.onRelease, self.mayReturn) = (onRelease, mayReturn)
    }

    deinit { onRelease?.open() }

    func run(at now: Instant) -> Instant {
      turns.send()
      mayReturn?.waitBlocking()
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
    // Nor does what can wait put off what cannot.
    try worker.run(job, by: .now.advanced(by: .milliseconds(50)))
    try worker.run(job, by: .now.advanced(by: .seconds(3_600)))
    try await turns.next("the earlier turn")
  }

  @Test func `a thread that has ended is replaced`() async throws {
    let worker = Worker(idleTime: .microseconds(100))
    let job = Job(in: turns)
    for _ in 0..<20 {
      try worker.run(job)
      try await turns.next("a turn")
    }
  }

  @Test func `what is asked for while the job runs is done after it`() async throws {
    final class AskingJob: BackgroundJob {
      let worker = Worker()
      let turns = EventQueue<Void>()
      private let isFirst = Atomic(true)

      func run(at now: Instant) -> Instant {
        turns.send()
        if isFirst.exchange(false, ordering: .relaxed) { try? worker.run(self) }
        return .never
      }
    }
    let job = AskingJob()
    try job.worker.run(job)
    for _ in 0..<2 { try await job.turns.next("a turn") }
  }

  /// - Parameters:
  ///   - later: The job was to run an hour later.
  ///   - answers: When it says so: before or after the end.
  @Test(arguments: [
    (1, false, false, "before"), (3_600_000, true, false, "before"), (3_600_000, true, true, "before"),
    (3_600_000, true, true, "after"),
  ])
  func `a thread ends when it has been idle, and at once if no work will come`(
    idleTime: Int, ends: Bool, later: Bool, answers: String
  ) async throws {
    struct Reference { weak var worker: Worker? }
    func makeWorker() async throws -> Reference {
      let (worker, mayReturn) = (Worker(idleTime: .milliseconds(idleTime)), Gate())
      let results = later ? [Instant.now.advanced(by: .seconds(3_600))] : []
      if answers == "before" { mayReturn.open() }
      try worker.run(Job(in: turns, returning: results, when: mayReturn))
      try await turns.next("a turn")
      if ends { worker.end() }
      mayReturn.open()
      return Reference(worker: worker)
    }
    // The thread holds it.
    let reference = try await makeWorker()
    try await Poll.until("the end of the thread") { reference.worker == nil }
  }
}
