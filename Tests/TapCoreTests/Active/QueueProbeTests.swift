import TestSupport

@testable import TapCore

/// The questions that a queue is asked, and what is said of one that does not answer.
struct QueueProbeTests {
  private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

  /// What a turn at some millisecond says.
  private func turn(_ state: inout QueueProbe.State, isUsed: Bool = false, at milliseconds: Int) -> (
    mustAsk: Bool, held: Duration?, next: Instant
  ) {
    state.turn(isUsed: isUsed, limit: .seconds(5), at: at(milliseconds))
  }

  @Test func `a queue that is not used is not asked`() {
    var state = QueueProbe.State()
    for time in [0, 1_000, 60_000] { #expect(turn(&state, at: time) == (false, nil, .never)) }
  }

  @Test func `a queue in use is asked once a second, and once after its last use`() {
    var state = QueueProbe.State()
    var asked: [Int] = []
    for time in stride(from: 0, through: 2_500, by: 100) {
      if turn(&state, isUsed: time <= 2_200, at: time).mustAsk { asked.append(time) }
      state.answer()
    }
    #expect(asked == [0, 1_000, 2_000])
    // It was used after the question at 2,000.
    #expect(turn(&state, at: 2_600) == (false, nil, at(3_000)))
    #expect(turn(&state, at: 3_000) == (true, nil, at(8_000)))
    state.answer()
    #expect(turn(&state, at: 3_100) == (false, nil, .never))
    #expect(turn(&state, at: 8_000) == (false, nil, .never))
  }

  @Test func `an answer that is due is reported at the limit and at each doubling`() {
    var state = QueueProbe.State()
    let reports = stride(from: 1_000, through: 50_000, by: 100).compactMap { time -> Int? in
      let held = turn(&state, isUsed: true, at: time).held
      if let held { #expect(held == at(1_000).duration(to: at(time))) }
      return held.map { _ in time }
    }
    #expect(reports == [6_000, 11_000, 21_000, 41_000])
    state.answer()
    // It was used meanwhile. The next question has a limit of its own.
    #expect(turn(&state, at: 81_000) == (true, nil, at(86_000)))
    state.answer()
    #expect(turn(&state, at: 86_000) == (false, nil, .never))
    #expect(turn(&state, isUsed: true, at: 90_000) == (true, nil, at(95_000)))
    #expect(turn(&state, at: 95_000).held == .seconds(5))
  }

  @Test func `an answer is due since its question, whoever has put it`() {
    var state = QueueProbe.State()
    let mustAsk = state.ask(at: at(1_000))
    #expect(mustAsk)
    #expect(turn(&state, at: 3_000) == (false, nil, at(6_000)))
  }

  @Test func `a limit of no time asks for no turn at once`() {
    var state = QueueProbe.State()
    let first = state.turn(isUsed: true, limit: .zero, at: at(0))
    #expect(first.mustAsk)
    #expect(first.held == .zero)
    #expect(first.next == at(1))
  }

  @Test func `one who only looks asks for the next look`() {
    let answers = Mutex<[@Sendable () -> Void]>([])
    let probe = QueueProbe { answer in answers.withLock { $0.append(answer) } }
    #expect(probe.heldTime(at: at(1_000)) == .zero)
    // Of one that read the clock before.
    #expect(probe.heldTime(at: at(900)) == .zero)
    #expect(probe.heldTime(at: at(16_000)) == .seconds(15))
    #expect(answers.withLock { $0.count } == 1)
    answers.withLock { $0.removeFirst() }()
    #expect(probe.heldTime(at: at(16_500)) == .zero)
    #expect(answers.withLock { $0.count } == 1)
    // A second after the last question at the earliest.
    answers.withLock { $0.removeFirst() }()
    #expect(probe.heldTime(at: at(17_000)) == .zero)
    #expect(answers.withLock { $0.count } == 0)
  }

  @Test func `a queue that answers within the question is not held`() {
    let probe = QueueProbe { $0() }
    for time in [0, 1_000, 9_000] { #expect(probe.heldTime(at: at(time)) == .zero) }
  }
}
