import Synchronization
import TestSupport
import Testing

@testable import TapLog

@Suite(.needs(.thread)) struct HangupTests {
  /// How often the app's own handler was called.
  private static let calls = Atomic<Int>(0)

  @Test func `makes the log reopen its file, and still calls the handler of before`() async throws {
    let folder = try TemporaryFolder()
    _ = Self.calls.load(ordering: .relaxed)
    signal(SIGHUP) { _ in HangupTests.calls.wrappingAdd(1, ordering: .relaxed) }
    var configuration = RequestLog.Configuration()
    configuration.reopensOnHangup = true
    let output = try FileOutput(folder("requests.jsonl"), configuration)
    for isHangup in [false, true] {
      // A mark on what is open, which an open file does not have.
      let descriptor = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
      #expect(fcntl(descriptor, F_SETFL, O_APPEND) == 0)
      if isHangup {
        kill(getpid(), SIGHUP)
        _ = try await Poll.until("the signal") { Self.calls.load(ordering: .relaxed) == 1 ? true : nil }
      }
      var batch = LineBuffer("line\n")
      #expect(output.write(&batch).bytes == 5)
      let next = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
      #expect((fcntl(next, F_GETFL) & O_NONBLOCK != 0) == isHangup)
    }
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["line", "line"])
  }

  @Test
  func `calls a handler of before that wants to know more with all that it wants to know`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    try ExitValues.give("HangupTests.1", path)
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("HangupTests.1", String.self)
      var before = sigaction()
      before.__sigaction_handler.sa_sigaction = { number, information, context in
        guard number == SIGHUP, context != nil,
          information?.pointee._sifields._rt.si_sigval.sival_int == 42
        else { _exit(1) }
        HangupTests.calls.wrappingAdd(1, ordering: .relaxed)
      }
      // Once: the second signal is ours alone, and does not end the process.
      before.sa_flags = SA_SIGINFO | SA_ONSTACK | Int32(truncatingIfNeeded: SA_RESETHAND)
      sigaddset(&before.sa_mask, SIGUSR1)
      sigaction(SIGHUP, &before, nil)
      var configuration = RequestLog.Configuration()
      configuration.reopensOnHangup = true
      let output = try FileOutput(path, configuration)
      guard sigqueue(getpid(), SIGHUP, sigval(sival_int: 42)) == 0 else { exit(2) }
      _ = try await Poll.until("the signal") { HangupTests.calls.load(ordering: .relaxed) == 1 ? true : nil }
      kill(getpid(), SIGHUP)
      _ = try await Poll.until("another signal") { HangupSignal.count == 2 ? true : nil }
      guard HangupTests.calls.load(ordering: .relaxed) == 1 else { exit(3) }
      var now = sigaction()
      sigaction(SIGHUP, nil, &now)
      let flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK
      guard now.sa_flags & flags == flags, sigismember(&now.sa_mask, SIGUSR1) == 1 else { exit(4) }
      output.close()
      exit(7)
    }
  }

  @Test(.serialized, arguments: [0, 1])
  func `is counted, and does not end the process, where it would end it or is ignored`(disposition: Int)
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    try ExitValues.give("HangupTests.2", path, disposition)
    await #expect(processExitsWith: .exitCode(7)) {
      let (path, disposition) = try ExitValues.take("HangupTests.2", String.self, Int.self)
      signal(SIGHUP, disposition == 0 ? SIG_DFL : SIG_IGN)
      var configuration = RequestLog.Configuration()
      configuration.reopensOnHangup = true
      let output = try FileOutput(path, configuration)
      kill(getpid(), SIGHUP)
      _ = try await Poll.until("the signal") { HangupSignal.count == 1 ? true : nil }
      output.close()
      exit(7)
    }
  }
}
