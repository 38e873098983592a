import SessionTap
import TestStart
import TestSupport

/// Who has SIGTERM and SIGINT, and when. Each in a process of its own.
@Suite(.needs(.program)) struct TerminationSignalTests {
  @Test func `waits that are let go leave the signals as they were`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      signal(SIGINT, SIG_DFL)
      for _ in 0..<2 {
        var signals = (0..<3).map { _ in TerminationSignals() }
        #expect(handler(of: SIGTERM) > 1 && handler(of: SIGINT) > 1)
        // Those that are left have the signals.
        signals.removeLast(2)
        #expect(handler(of: SIGTERM) > 1 && handler(of: SIGINT) > 1)
        signals.removeAll()
        #expect(handler(of: SIGTERM) == 0 && handler(of: SIGINT) == 0)
      }
      exit(7)
    }
  }

  /// A signal is not taken before there is a thread that waits for it.
  @Test(.serialized, arguments: [true, false])
  func `a wait gets the signal when the system gives a thread, unless it was let go`(isLetGo: Bool)
    async throws
  {
    try ExitValues.give("TerminationSignalTests", isLetGo)
    await #expect(processExitsWith: .exitCode(7)) {
      let isLetGo = try ExitValues.take("TerminationSignalTests", Bool.self)
      refuse_threads(-1)
      var first: TerminationSignals? = TerminationSignals()
      #expect(first != nil && handler(of: SIGTERM) == 0)
      if isLetGo { first = nil }
      refuse_threads(0)
      // The first of these starts the thread too.
      for _ in 0..<10 { await BackgroundThread.run {} }
      if isLetGo { #expect(handler(of: SIGTERM) == 0) }
      let second = first ?? TerminationSignals()
      try await waitForHandler(of: SIGTERM)
      kill(getpid(), SIGTERM)
      let ended = Gate()
      Task {
        await second.wait()
        ended.open()
      }
      try await ended.wait("the end of the wait")
      first = nil
      #expect(handler(of: SIGTERM) == 0)
      exit(7)
    }
  }
}
