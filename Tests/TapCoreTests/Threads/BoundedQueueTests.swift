import TestSupport

@testable import TapCore

/// The one queue of the requests, of the calls of observers and of the log.
@Suite(.needs(.thread)) struct BoundedQueueTests {
  private let batches = EventQueue<[Int]>()
  /// The worker waits here with each batch.
  private let gate = Gate()
  /// For what is to come at once.
  private static var deadline: Instant { .now.advanced(by: .seconds(60)) }

  private func queue(_ process: @escaping @Sendable (inout [Int]) -> Void = { _ in }) -> BoundedQueue<[Int]> {
    BoundedQueue { [batches, gate] batch, _ in
      if !batch.isEmpty { batches.send(batch) }
      process(&batch)
      gate.waitBlocking()
      batch.removeAll()
    }
  }

  /// What was processed, such as `[1] new flush`.
  private let processed = Watched<[String]>([])

  /// A queue of which each turn is noted that takes a batch, or is the last.
  private func noting(
    _ process: @escaping @Sendable (inout [Int], inout QueueTurn) -> Void = { batch, _ in batch = [] }
  ) -> BoundedQueue<[Int]> {
    BoundedQueue { [processed] batch, turn in
      let before = batch
      process(&batch, &turn)
      guard batch.isEmpty, !before.isEmpty || turn.isLast else { return }
      let words = [(turn.isNew, " new"), (turn.isFlush, " flush"), (turn.isLast, " last")]
      processed.change { $0.append("\(before)" + words.map { $0.0 ? $0.1 : "" }.joined()) }
    }
  }

  private func add(_ elements: Int..., to queue: BoundedQueue<[Int]>) -> [QueueFill] {
    elements.map { element in queue.add { $0.append(element, limit: 4, many: 2) } }
  }

  @Test func `all that wait are processed at once, and what finds it full is counted`() async throws {
    let queue = queue()
    #expect(add(1, 2, to: queue) == [.first, .many])
    #expect(try await batches.next("a batch").last == 2)
    // The worker waits at the gate with those: nobody who adds waits for it.
    #expect(add(3, 4, 5, 6, 7, 8, to: queue) == [.first, .many, .some, .some, .full, .full])
    #expect(queue.droppedCount == 2)
    gate.open()
    #expect(queue.flush(until: Self.deadline))
    #expect(try await batches.next("a batch") == [3, 4, 5, 6])
  }

  @Test func `a flush waits for what was added before it, until its deadline`() async throws {
    let queue = queue()
    #expect(queue.flush(until: .now))
    _ = add(1, to: queue)
    #expect(!queue.flush(until: .now))
    #expect(try await batches.next("a batch") == [1])
    #expect(!queue.flush(until: .now))
    gate.open()
    #expect(queue.flush(until: Self.deadline))
    #expect(queue.flush(until: .now))
  }

  @Test func `who processes a batch does not wait for itself`() async throws {
    gate.open()
    let own = Mutex<BoundedQueue<[Int]>?>(nil)
    let result = Mutex<Bool?>(nil)
    let queue = queue { batch in
      guard let own = own.withLock({ $0 }), !batch.isEmpty else { return }
      own.drain()
      result.withLock { $0 = own.flush(until: Self.deadline) }
    }
    own.withLock { $0 = queue }
    _ = add(1, to: queue)
    queue.drain()
    own.withLock { $0 = nil }
    #expect(result.withLock { $0 } == false)
  }

  @Test func `what is left of a batch comes before what was added behind it`() throws {
    let left = Atomic(2)
    let queue = noting { batch, turn in
      if left.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 { turn.next = .now } else { batch = [] }
    }
    _ = add(1, to: queue)
    queue.drain()
    _ = add(2, to: queue)
    #expect(queue.flush(until: Self.deadline))
    #expect(processed.state.map { $0.prefix(3) } == ["[1]", "[2]"])
  }

  @Test func `a closed queue takes nothing, and its flush waits for the last turn, which is one`() throws {
    let queue = noting()
    func areLast() -> [Bool] { processed.state.map { $0.hasSuffix(" flush last") } }
    _ = add(1, to: queue)
    #expect(queue.flush(until: Self.deadline))
    queue.close()
    queue.close()
    #expect(add(2, to: queue) == [.closed])
    #expect(queue.flush(until: Self.deadline))
    #expect(areLast() == [false, true])
    // Another close is none.
    queue.close()
    #expect(queue.flush(until: .now))
    queue.drain()
    #expect(areLast() == [false, true])
    #expect(queue.addedCount == 1 && queue.droppedCount == 1)
  }

  @Test func `a batch that is not done keeps its flush waiting, and a turn for none is no flush`() {
    let isDone = Atomic(false)
    let flushes = Mutex<[Bool]>([])
    let queue = BoundedQueue<[Int]> { batch, turn in
      flushes.withLock { $0.append(turn.isFlush) }
      batch = []
      turn.isDone = isDone.load(ordering: .relaxed)
    }
    _ = add(1, to: queue)
    queue.drain()
    #expect(flushes.withLock { !$0.contains(true) })
    #expect(!queue.flush(until: .now))
    isDone.store(true, ordering: .relaxed)
    #expect(queue.flush(until: Self.deadline))
    #expect(flushes.withLock { $0.contains(true) })
  }

  @Test func `the last turn is a flush, and comes after the rest of an earlier batch`() {
    let isStuck = Atomic(true)
    let queue = noting { batch, _ in if !isStuck.load(ordering: .relaxed) { batch = [] } }
    _ = add(1, to: queue)
    queue.drain()
    #expect(!queue.flush(until: .now))
    _ = add(2, to: queue)
    queue.close()
    #expect(!queue.flush(until: .now))
    isStuck.store(false, ordering: .relaxed)
    for _ in 0..<2 { queue.drain() }
    #expect(processed.state == ["[1] flush", "[2] new flush last"])
    #expect(queue.flush(until: .now))
  }

  @Test func `what is added while a batch is processed is not done with it`() {
    let own = Mutex<BoundedQueue<[Int]>?>(nil)
    let queue = noting { batch, _ in
      if batch == [1], let own = own.withLock({ $0 }) {
        own.add { $0.append(2, limit: 4, many: 2) }
        own.flush(until: Self.deadline)
      }
      batch = []
    }
    own.withLock { $0 = queue }
    _ = add(1, to: queue)
    for _ in 0..<2 { queue.drain() }
    own.withLock { $0 = nil }
    #expect(processed.state == ["[1] new", "[2] new flush"])
  }

  @Test(arguments: [true, false])
  func `all who wait go on, when it is done and when the queue is abandoned`(isDone: Bool) async throws {
    let queue = queue()
    let ends = EventQueue<Bool>()
    _ = add(1, to: queue)
    _ = try await batches.next("a batch")
    for _ in 0..<3 { try BackgroundThread.start { ends.send(queue.flush(until: .never)) } }
    // So that most likely all of them wait.
    #expect(!queue.flush(until: .now.advanced(by: .milliseconds(20))))
    if isDone { gate.open() } else { queue.abandon() }
    for _ in 0..<3 { #expect(try await ends.next(seconds: 60, "the end of a flush") == isDone) }
    gate.open()
    // Waits for the worker: what it has processed since the queue was abandoned is not done either.
    queue.drain()
    #expect(queue.flush(until: Self.deadline) == isDone)
  }
}
