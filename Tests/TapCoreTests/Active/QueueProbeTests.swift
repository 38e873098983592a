import TestSupport

@testable import TapCore

/// The questions that a queue is asked, and what is said of one that does not answer.
struct QueueProbeTests {
  private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

  /// What turns at some milliseconds say, in order: `?` for a question, a held time in seconds, and when the
  /// next one is due. `!` is an answer, `+` a use of the queue.
  private func turns(_ text: String) -> String {
    var state = QueueProbe.State()
    return text.split(separator: " ").map { turn -> String in
      if turn == "!" {
        state.answer()
        return "!"
      }
      let time = Int(turn.filter(\.isNumber)) ?? 0
      let said = state.turn(isUsed: turn.hasSuffix("+"), at: at(time))
      let next = said.next == .never ? "-" : "\(said.next.nanoseconds / 1_000_000)"
      return
        "\(said.question == .none ? "" : "?")\(said.held.map { "\($0.duration.seconds)s" } ?? ""):\(next)"
    }.joined(separator: " ")
  }

  @Test func `a queue in use is asked once a second, and reported after five seconds and each doubling`() {
    let rows = [
      // One that is not used is not asked.
      ("0 1000 60000", ":- :- :-"),
      // Once a second, and once after its last use.
      (
        "0+ ! 100+ ! 900+ ! 1000+ ! 1100+ ! 1200 2000 ! 2100",
        "?:5000 ! :1000 ! :1000 ! ?:6000 ! :2000 ! :2000 ?:7000 ! :-"
      ),
      (
        "0+ 4999 5000 9999+ 10000 19999 20000",
        "?:5000 :5000 5.0s:10000 :10000 10.0s:20000 :20000 20.0s:40000"
      ),
      // It was used meanwhile. The next question has a limit of its own.
      ("0+ 5000+ ! 5100 ! 5200", "?:5000 5.0s:10000 ! ?:10100 ! :-"),
    ]
    #expect(rows.map { turns($0.0) } == rows.map(\.1))
  }

  @Test func `one who only looks asks for the next look`() {
    let answers = Mutex<[@Sendable () -> Void]>([])
    let probe = QueueProbe { answer in answers.withLock { $0.append(answer) } }
    func held(_ time: Int) -> String {
      "\(probe.held(at: at(time)).map { "\($0.duration.seconds)" } ?? "-") \(answers.withLock { $0.count })"
    }
    func answer() { answers.withLock { $0.removeFirst() }() }
    // One read the clock before. One question is open, however many ask.
    var seen = [held(1_000), held(900), held(16_000)]
    answer()
    seen.append(held(16_500))
    // A second after the last question at the earliest.
    answer()
    seen.append(held(17_000))
    #expect(seen == ["0.0 1", "0.0 1", "15.0 1", "0.0 1", "- 0"])
    #expect(QueueProbe { $0() }.held(at: at(0)) == nil)
  }

  @Test func `where another queue does not run either, Dispatch has no threads`() {
    let answers = Mutex<[@Sendable () -> Void]>([])
    let comparisons = Mutex<[@Sendable () -> Void]>([])
    let probe = QueueProbe(compare: { answer in comparisons.withLock { $0.append(answer) } }) { answer in
      answers.withLock { $0.append(answer) }
    }
    func lacksThreads(_ time: Int) -> Bool? { probe.held(at: at(time))?.lacksThreads }
    var seen = [lacksThreads(0), lacksThreads(6_000)]
    // The queue has run, and the other one has not: it is asked once.
    answers.withLock { $0.removeFirst() }()
    seen.append(lacksThreads(7_000))
    #expect(comparisons.withLock { $0.count } == 1)
    comparisons.withLock { $0.removeFirst() }()
    seen.append(lacksThreads(8_000))
    #expect(seen == [true, true, true, false])
  }
}
