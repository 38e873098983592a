public import TapCore

extension Tap {
  /// The requests of both directions that have not ended, the oldest first: for a readiness check that fails
  /// while requests hang, and for tests.
  ///
  /// ```swift
  /// let hanging = tap.requestsUnderWay(olderThan: .seconds(60))
  /// ```
  ///
  /// Those that URLSession has taken and not started are among them (``/TapCore/RequestWait/start``). The
  /// URLs are not redacted. May be called from any thread; waits only for the work of ``flush(within:)`` that
  /// needs the processor alone.
  ///
  /// - Parameter age: How long a request must have been under way. All by default.
  public func requestsUnderWay(olderThan age: Duration = .zero) -> [RequestUnderWay] {
    recorder.requestsUnderWay(olderThan: age)
  }
}
