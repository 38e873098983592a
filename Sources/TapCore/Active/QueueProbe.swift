import Synchronization

/// Knows whether a queue runs: puts questions on it, and notes since when an answer is due.
///
/// All URLSessions share one queue. The active requests do not show that it is held: `dataTask(with:)` and
/// `resume()` wait for it themselves, so requests made meanwhile never reach a tap.
package final class QueueProbe: Sendable {
  /// The questions and answers, as a value.
  struct State: Sendable {
    /// The least time between two questions.
    static let pause = Duration.seconds(1)

    /// When the question was put whose answer is due.
    private(set) var asked: Instant?
    private var lastAsked: Instant?
    /// The queue was used since the last question.
    private var isUsed = false
    /// When a held queue is reported next.
    private var report = Instant.never

    /// Returns whether to put a question now.
    mutating func ask(at now: Instant) -> Bool {
      guard asked == nil, now >= nextQuestion else { return false }
      (asked, lastAsked, isUsed, report) = (now, now, false, .never)
      return true
    }

    private var nextQuestion: Instant {
      lastAsked?.advanced(by: Self.pause) ?? Instant(nanoseconds: .min)
    }

    mutating func answer() { asked = nil }

    /// What one who reports has to do now, and when to come again.
    ///
    /// - Parameters:
    ///   - isUsed: Whether the queue was used since the last turn. After the last use there is one question.
    ///   - limit: How long an answer may take before that is reported; at each doubling of that time again.
    mutating func turn(isUsed: Bool, limit: Duration, at now: Instant) -> (
      mustAsk: Bool, held: Duration?, next: Instant
    ) {
      if isUsed { self.isUsed = true }
      let mustAsk = self.isUsed && ask(at: now)
      guard let asked else { return (false, nil, self.isUsed ? nextQuestion : .never) }
      if report == .never { report = asked.advanced(by: limit) }
      if report > now { return (mustAsk, nil, report) }
      let held = asked.duration(to: now)
      report = now.advanced(by: max(held, .milliseconds(1)))
      return (mustAsk, held, report)
    }
  }

  private let state = Mutex(State())
  private let put: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void

  /// - Parameter put: Puts a question on the queue, and does not wait for its answer.
  package init(_ put: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void) {
    self.put = put
  }

  /// For how long the queue has not run what was put on it; 0 if it owes no answer. Puts a question for the
  /// next call.
  package func heldTime(at now: Instant = .now) -> Duration {
    if state.withLock({ $0.ask(at: now) }) { put { self.answer() } }
    return state.withLock { $0.asked }.map { max(.zero, $0.duration(to: now)) } ?? .zero
  }

  /// For how long the queue has been held, if that is to be reported now, and when to call again.
  func turn(isUsed: Bool, limit: Duration, at now: Instant) -> (held: Duration?, next: Instant) {
    let turn = state.withLock { $0.turn(isUsed: isUsed, limit: limit, at: now) }
    if turn.mustAsk { put { self.answer() } }
    return (turn.held, turn.next)
  }

  private func answer() { state.withLock { $0.answer() } }
}
