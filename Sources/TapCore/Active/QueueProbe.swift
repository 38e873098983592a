import Synchronization

/// A queue that has not run what was put on it.
package struct HeldQueue: Sendable, Equatable {
  package let duration: Duration
  /// A queue of the probe's own does not run either: Dispatch has no thread left for any queue.
  package let lacksThreads: Bool

  package init(duration: Duration, lacksThreads: Bool = false) {
    (self.duration, self.lacksThreads) = (duration, lacksThreads)
  }

  /// After how long a queue that does not run, or starts nothing, counts as held.
  package static let limit = Duration.seconds(5)
}

/// Knows whether a queue runs: puts questions on it, and notes since when an answer is due.
///
/// All URLSessions share one queue. The active requests do not show that it is held: `dataTask(with:)` and
/// `resume()` wait for it themselves, so requests made meanwhile never reach a tap. Each question is put on a
/// queue that nobody can hold too: where that owes its answer as well, it is Dispatch that does not run.
package final class QueueProbe: Sendable {
  enum Question { case none, queue, bothQueues }

  /// The questions and answers, as a value.
  struct State: Sendable {
    /// The least time between two questions.
    static let pause = Duration.seconds(1)

    /// When the question was put whose answer is due.
    private(set) var asked: Instant?
    /// The other queue owes an answer.
    private(set) var lacksThreads = false
    private var lastAsked: Instant?
    /// The queue was used since the last question.
    private var isUsed = false
    /// When a held queue is reported next.
    private var report = Instant.never

    /// What to ask now.
    mutating func ask(at now: Instant) -> Question {
      guard asked == nil, now >= nextQuestion else { return .none }
      (asked, lastAsked, isUsed, report) = (now, now, false, .never)
      defer { lacksThreads = true }
      return lacksThreads ? .queue : .bothQueues
    }

    private var nextQuestion: Instant {
      lastAsked?.advanced(by: Self.pause) ?? Instant(nanoseconds: .min)
    }

    mutating func answer() { asked = nil }

    /// The other queue has run.
    mutating func compare() { lacksThreads = false }

    /// For how long the queue has not run, if it owes an answer.
    func held(at now: Instant) -> HeldQueue? {
      asked.map { HeldQueue(duration: max(.zero, $0.duration(to: now)), lacksThreads: lacksThreads) }
    }

    /// What one who reports has to do now, and when to come again.
    ///
    /// - Parameter isUsed: Whether the queue was used since the last turn. After the last use there is one
    ///   question.
    mutating func turn(isUsed: Bool, at now: Instant) -> (
      question: Question, held: HeldQueue?, next: Instant
    ) {
      if isUsed { self.isUsed = true }
      let question = self.isUsed ? ask(at: now) : .none
      guard let asked else { return (question, nil, self.isUsed ? nextQuestion : .never) }
      // At the limit, and at each doubling of that time.
      if report == .never { report = asked.advanced(by: HeldQueue.limit) }
      if report > now { return (question, nil, report) }
      report = now.advanced(by: asked.duration(to: now))
      return (question, held(at: now), report)
    }
  }

  package typealias Put = @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void

  private let state = Mutex(State())
  private let put: Put
  private let compare: Put

  /// - Parameters:
  ///   - compare: Puts a question on a queue that nobody holds. By default it is answered at once.
  ///   - put: Puts a question on the queue, and does not wait for its answer.
  package init(compare: @escaping Put = { $0() }, _ put: @escaping Put) {
    (self.compare, self.put) = (compare, put)
  }

  /// For how long the queue has not run what was put on it; `nil` if it owes no answer. Puts a question for
  /// the next call.
  package func held(at now: Instant = .now) -> HeldQueue? {
    ask(state.withLock { $0.ask(at: now) })
    return state.withLock { $0.held(at: now) }
  }

  /// For how long the queue has been held, if that is to be reported now, and when to call again.
  func turn(isUsed: Bool, at now: Instant) -> (held: HeldQueue?, next: Instant) {
    let turn = state.withLock { $0.turn(isUsed: isUsed, at: now) }
    ask(turn.question)
    return (turn.held, turn.next)
  }

  private func ask(_ question: Question) {
    if question == .bothQueues { compare { self.state.withLock { $0.compare() } } }
    if question != .none { put { self.state.withLock { $0.answer() } } }
  }
}
