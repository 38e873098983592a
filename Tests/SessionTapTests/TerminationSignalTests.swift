import SessionTap
import TestStart
import TestSupport

/// Who has SIGTERM and SIGINT, when, and what a tap does at one. Each in a process of its own.
@Suite(.needs(.program)) struct TerminationSignalTests {
  private static func waitForEnd(of signals: [TerminationSignals]) async throws {
    let ended = Gate()
    Task {
      for waiting in signals { await waiting.wait() }
      ended.open()
    }
    try await ended.wait("the end of all waits")
  }

  /// The actions of SIGTERM and SIGINT.
  private static var handlers: [Int] { [handler(of: SIGTERM), handler(of: SIGINT)] }

  @Test func `a signal ends all waits, and then, or without a wait, each has the action of before`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      signal(SIGINT, SIG_IGN)
      for isSent in [false, true, true] {
        var signals = (0..<3).map { _ in TerminationSignals() }
        #expect(Self.handlers.allSatisfy { $0 > 1 })
        // Those that are left have the signals.
        signals.removeLast()
        #expect(Self.handlers.allSatisfy { $0 > 1 })
        if isSent {
          kill(getpid(), SIGTERM)
          try await Self.waitForEnd(of: signals)
          #expect(Self.handlers == [0, 1])
          // A wait that begins later has a signal of its own, though the others are still there.
          let later = TerminationSignals()
          kill(getpid(), SIGTERM)
          try await Self.waitForEnd(of: [later])
        }
        signals.removeAll()
        #expect(Self.handlers == [0, 1])
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
      try await Self.waitForEnd(of: [second])
      first = nil
      #expect(handler(of: SIGTERM) == 0)
      exit(7)
    }
  }

  @Test func `a wait ends with the signal or its task, and the signal's action is the app's`() async throws {
    await #expect(processExitsWith: .signal(SIGINT)) {
      let first = try Tap.start(.test())
      let cancelled = Task { await first.runUntilTerminated() }
      cancelled.cancel()
      await cancelled.value
      let second = try Tap.start(.test())
      let asked = Task { await second.runUntilTerminated() }
      try await waitForHandler(of: SIGINT)
      kill(getpid(), SIGINT)
      await asked.value
      #expect(second.address == nil)
      kill(getpid(), SIGINT)
      try await Poll.until("end of the process by the second signal") { false }
    }
  }

  private struct Failed: Error {}

  @Sendable private static func waitForSignal() async throws {
    kill(getpid(), SIGTERM)
    try await Gate.waitForCancel()
  }

  @Test func `the app is waited for, its last requests are recorded, and those that are active have a line`()
    async throws
  {
    let (folder, begin) = (try TemporaryFolder(), ContinuousClock.now)
    try ExitValues.give("TerminationSignalTests.2", folder("requests.jsonl"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("TerminationSignalTests.2", String.self)
      let tap = try Tap.start(.test(log: .file(path)))
      let over = Gate()
      let origin = try Origin { _ in [.hold(over)] }
      let session = tap.session(
        client: "c", configuration: with(.ephemeral) { $0.httpMaximumConnectionsPerHost = 20 })
      for number in 0..<20 { session.dataTask(with: origin.url("/\(number)")) { _, _, _ in }.resume() }
      try await Poll.until("requests that wait") { tap.activeRequests().count { $0.wait == .response } == 20 }
      try await tap.runUntilTerminated {
        try await Self.waitForSignal()
        tap.inbound.begin(method: "GET", path: "/last").end(statusCode: 200)
        try Task.checkCancellation()
      }
      // What is no cancellation is an error of the app's then, too.
      let other = try Tap.start(.test())
      await #expect(throws: Failed.self) {
        try await other.runUntilTerminated {
          try await Self.waitForSignal()
          throw Failed()
        }
      }
      exit(7)
    }
    let objects = try jsonObjects(folder.text("requests.jsonl"))
    let ages = objects.compactMap { $0.number("duration_s") }
    #expect(ages.allSatisfy { $0 >= 0 && .seconds($0) <= ContinuousClock.now - begin } && ages.count == 21)
    let lines = objects.map { line in
      let path = (line["url.full"] as? String).flatMap { URL(string: $0)?.path } ?? line.row("url.path")
      return "\(line.row("event", "waiting_for")) \(path)"
    }
    let unfinished = (0..<20).map { "http.client.request.unfinished response /\($0)" }
    #expect(lines.sorted() == (unfinished + ["http.server.request - /last"]).sorted())
  }

  @Test func `an app that does not end is told what it may wait for`() async throws {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let tap = try Tap.start(.test(log: .memory) { ($0.isQuiet, $0.logging.recentLineLimit) = (false, 9) })
      let request = tap.outbound.begin(client: "c", method: "GET", url: "http://host/slow?token=s3cret")
      try await tap.runUntilTerminated {
        try await withTaskCancellationHandler {
          kill(getpid(), SIGTERM)
          try await Gate.waitForCancel()
        } onCancel: {
          // As Foundation, which may stand still here (corelibs 5412).
          let deadline = ContinuousClock.now + .seconds(60)
          while !tap.logText.contains("has not ended") {
            guard .now < deadline else { exit(8) }
            sched_yield()
          }
        }
      }
      withExtendedLifetime(request) { exit(7) }
    }
    let said = try #require(result).said.filter { $0.contains("the app was asked to end, and has not ended") }
    let request = "active requests: 1, the oldest: GET http://host/slow?token=REDACTED waits for response, 1."
    #expect(said.count == 1 && said.first?.contains(request) == true)
    #expect(!said.joined().contains("s3cret"))
  }

  @Test func `an app's error is thrown after the shutdown`() async throws {
    let tap = try Tap.start(.test())
    await #expect(throws: Failed.self) { try await tap.runUntilTerminated { throw Failed() } }
    #expect(tap.address == nil)
    #expect(throws: TapError.self) { try tap.start() }
    // Without a signal a cancellation is the app's own error.
    let other = try Tap.start(.test())
    await #expect(throws: CancellationError.self) {
      try await other.runUntilTerminated { throw CancellationError() }
    }
  }
}
