import SessionTap
import TestSupport

/// A start in a process that is not as one would like it: its port is taken, its standard streams are closed,
/// its environment is wrong.
@Suite(.needs(.program)) struct TapStartTests {
  @Test func `it says once where the metrics are and what it could not use, if not quiet`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      for isQuiet in [false, true] {
        // A value begins no line of its own. The log takes no line.
        let environment = ["SESSION_TAP_LOGS": "x", "SESSION_TAP_ALLOW_NETWORK": "yes\nsession-tap: no"]
        let tap = try Tap.start(
          .test(log: .file("/dev/full"), environment: environment) {
            ($0.shutdownTimeout, $0.isQuiet) = (.milliseconds(100), isQuiet)
          })
        #expect(tap.address?.host == "127.0.0.1")
        tap.log(.info, "lost")
        try await Poll.until("the fault") { tap.requestLog?.statistics.writeErrors ?? 0 > 0 }
        await tap.shutdown()
      }
      exit(EXIT_SUCCESS)
    }
    let lines = try #require(result).said
    let expected = [
      "/dev/full", "SESSION_TAP_ALLOW_NETWORK is 'yes session-tap: no'",
      "there is no variable SESSION_TAP_LOGS: the article \"Metrics and limits\" lists all",
      "session-tap: metrics at http://127.0.0.1:",
    ]
    #expect(
      lines.count == 4 && expected.allSatisfy { text in lines.contains { $0.contains(text) } }, "\(lines)")
  }

  @Test func `the environment is read without a word of code, and code wins`() async throws {
    let taken = try Origin { _ in [.close] }
    try ExitValues.give("TapStartTests.1", String(taken.port))
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let port = try ExitValues.take("TapStartTests.1", String.self)
      setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port, 1)
      setenv("SESSION_TAP_LOG", "stderr", 1)
      let tap = try Tap.start()
      #expect(tap.address == nil && tap.requestLog != nil)
      await tap.shutdown()
      let other = try Tap.start(.test { $0.isQuiet = false })
      #expect(other.address != nil && other.requestLog == nil)
      await other.shutdown()
      exit(EXIT_SUCCESS)
    }
    let lines = try #require(result).said
    let ignored = "SESSION_TAP_LOG is 'stderr', which is ignored: the app's code sets another value"
    #expect(lines.contains("session-tap: warning: \(ignored)"))
    #expect(lines.first?.hasPrefix("session-tap: warning: address in use: 127.0.0.1:\(taken.port) ") == true)
    #expect(
      lines.first?.hasSuffix("; the app runs, and its metrics are served as soon as that is over") == true)
    #expect(lines.last?.wholeMatch(of: #/session-tap: metrics at http://127.0.0.1:\d+/metrics/#) != nil)
  }

  @Test(.timeLimit(.minutes(3)))
  func `a port that is taken ends no app whose standard error is full`() async throws {
    let taken = try Origin { _ in [.close] }
    try ExitValues.give("TapStartTests.2", String(taken.port))
    await #expect(processExitsWith: .exitCode(7)) {
      let port = try ExitValues.take("TapStartTests.2", String.self)
      let pipe = Pipe()
      let descriptor = pipe.fileHandleForWriting.fileDescriptor
      let flags = fcntl(descriptor, F_GETFL)
      _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
      let block = [UInt8](repeating: 0x20, count: 4_096)
      while write(descriptor, block, block.count) > 0 {}
      _ = fcntl(descriptor, F_SETFL, flags)
      dup2(descriptor, 2)
      let tap = try Tap.start(Tap.Configuration(environment: ["OTEL_EXPORTER_PROMETHEUS_PORT": port]))
      await tap.shutdown()
      withExtendedLifetime(pipe) { exit(7) }
    }
  }

  @Test func `the environment opens the network only if it says so`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      var environment = ["OTEL_EXPORTER_PROMETHEUS_HOST": "0.0.0.0", "OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
      for isOpen in [false, true] {
        if isOpen { environment["SESSION_TAP_ALLOW_NETWORK"] = "1" }
        let tap = try Tap.start(Tap.Configuration(environment: environment))
        #expect((tap.address != nil) == isOpen)
        await tap.shutdown()
      }
      exit(EXIT_SUCCESS)
    }
    let lines = try #require(result).said
    let remedy = "SESSION_TAP_ALLOW_NETWORK=1); the app runs, and its metrics are not served"
    #expect(lines.count == 2 && lines[0].contains("anybody could read") && lines[0].hasSuffix(remedy))
  }

  /// As often as that takes: here three times.
  @Test func `credentials that the environment names and that cannot be read yet are waited for`()
    async throws
  {
    struct Unreadable: Error {}
    let readings = Watched(0)
    let tap = try Tap.start(
      .test(environment: ["SESSION_TAP_BEARER_TOKEN_FILE": "/run/tokens"]) {
        ($0.servesLog, $0.addressRetryInterval) = (true, .milliseconds(5))
        $0.endpoint?.access.readFile = { _, _ in
          readings.change { $0 += 1 }
          if readings.state <= 3 { throw Unreadable() }
          return Array("secret\n".utf8)
        }
      })
    _ = try await Poll.until("the address") { tap.address }
    #expect(readings.state >= 4)
    #expect(try await tap.get("/metrics").hasPrefix("HTTP/1.1 401 "))
    #expect(await tap.flush())
    let message = try #require(tap.logLines.first?.row("message"))
    #expect(message.hasPrefix("no credentials: /run/tokens: "))
    #expect(message.hasSuffix("; the app runs, and its metrics are served as soon as that is over"))
    await tap.shutdown()
  }
}
