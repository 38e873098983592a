extension Tap {
  /// Waits until the process is asked to end (SIGTERM, SIGINT) or the current task is cancelled, and shuts the tap down: the last
  /// line of an app.
  ///
  /// The signals' actions are the app's own again when this goes on to the shutdown: a second signal ends the process at once.
  public func runUntilTerminated() async {
    await TerminationSignals().wait()
    await shutdown()
  }

  /// Runs the app until it ends, or the process is asked to end (SIGTERM, SIGINT): then its task is cancelled and waited for. The tap
  /// is shut down after it, so that its last requests are recorded.
  ///
  /// ```swift
  /// try await tap.runUntilTerminated { try await app.run() }
  /// ```
  ///
  /// - Throws: What the app throws; after a signal, `CancellationError` is no error.
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
