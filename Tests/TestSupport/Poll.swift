/// Waits for the effects of another process, which sends no event.
package enum Poll {
  /// Asks again and again, with a pause, until there is an answer. Throws when the deadline has passed.
  package static func until<T>(
    seconds: Double = 120, _ what: String, _ question: () async throws -> T?
  ) async throws -> T {
    let deadline = Deadline(seconds: seconds)
    while true {
      if let answer = try await question() { return answer }
      try deadline.check(what)
      await pause()
    }
  }

  /// Asks again and again, with a pause, until it is so.
  package static func until(seconds: Double = 120, _ what: String, _ isSo: () async throws -> Bool)
    async throws
  {
    try await until(seconds: seconds, what) { try await isSo() ? () : nil }
  }

  private static func pause() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { continuation.resume() }
    }
  }
}

/// The end of a wait that is a loop.
package struct Deadline {
  private let seconds: Double
  private let end: ContinuousClock.Instant

  package init(seconds: Double = 120) { (self.seconds, end) = (seconds, .now + .seconds(seconds)) }

  /// Throws once the deadline has passed.
  ///
  /// - Parameter what: What the loop waits for.
  package func check(_ what: String) throws {
    if ContinuousClock.now >= end { throw TestFailure.deadlinePassed(what, seconds) }
  }
}

/// What a test needs and does not get.
package struct TestFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  /// An event that a test waited for did not happen in time.
  static func deadlinePassed(_ what: String, _ seconds: Double) -> Self {
    Self("no \(what) within \(seconds) s")
  }
}
