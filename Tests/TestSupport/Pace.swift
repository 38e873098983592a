/// A steady rate for the load of a soak: each piece of work has a time at which it is due. What a pause has
/// held up is due at once after it.
package struct Pace: Sendable {
  private let start = ContinuousClock.now
  private let perSecond: Double

  package init(perSecond: Double) { self.perSecond = perSecond }

  /// Since the first piece was due.
  package var elapsed: Duration { start.duration(to: .now) }

  /// Holds this thread until a piece is due, the first of which is number 0.
  package func wait(for number: Int) {
    let ahead = .seconds(Double(number) / perSecond) - elapsed
    if ahead > .zero { Thread.sleep(forTimeInterval: ahead / .seconds(1)) }
  }
}
