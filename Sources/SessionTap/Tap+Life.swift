extension Tap {
  /// Waits until the process gets SIGTERM or SIGINT, or the current task is cancelled, and shuts the tap
  /// down. Call it as the last line of an app.
  ///
  /// Restores the signals' previous actions before the shutdown: a second signal ends the process at once.
  public func runUntilTerminated() async {
    await TerminationSignals().wait()
    await shutdown()
  }

  /// Runs the app until it ends, or the process gets SIGTERM or SIGINT: then cancels the app's task and waits
  /// for it. Shuts the tap down afterwards, so that the app's last requests are recorded.
  ///
  /// ```swift
  /// try await tap.runUntilTerminated { try await app.run() }
  /// ```
  ///
  /// - Throws: The app's errors, except for a `CancellationError` after a signal.
  public func runUntilTerminated(_ app: @escaping @Sendable () async throws -> Void) async throws {
    let signals = TerminationSignals()
    let result = await withTaskGroup { group in
      group.addTask { () async -> Result<Void, any Error>? in
        do { return .success(try await app()) } catch { return .failure(error) }
      }
      group.addTask {
        await signals.wait()
        return nil
      }
      var result = await group.next() ?? nil
      let isAsked = result == nil
      group.cancelAll()
      for await other in group { result = result ?? other }
      if isAsked, case .failure(let error) = result, error is CancellationError { result = .success(()) }
      return result
    }
    await shutdown()
    try result?.get()
  }
}
