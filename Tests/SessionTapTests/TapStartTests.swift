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

  @Test(.serialized, .timeLimit(.minutes(3)), arguments: [false, true])
  func `a port that is taken ends no app whose standard error nobody reads, or is full`(isFull: Bool)
    async throws
  {
    let taken = try Origin { _ in [.close] }
    try ExitValues.give("TapStartTests.2", String(taken.port), isFull)
    await #expect(processExitsWith: .exitCode(7)) {
      let (port, isFull) = try ExitValues.take("TapStartTests.2", String.self, Bool.self)
      let pipe = Pipe()
      let descriptor = pipe.fileHandleForWriting.fileDescriptor
      if isFull {
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        let block = [UInt8](repeating: 0x20, count: 4_096)
        while write(descriptor, block, block.count) > 0 {}
        _ = fcntl(descriptor, F_SETFL, flags)
      } else {
        try pipe.fileHandleForReading.close()
      }
      dup2(descriptor, 2)
      let tap = try Tap.start(Tap.Configuration(environment: ["OTEL_EXPORTER_PROMETHEUS_PORT": port]))
      await tap.shutdown()
      // The signal's action and mask are what they were.
      var pending = sigset_t()
      sigpending(&pending)
      exit(sigismember(&pending, SIGPIPE) == 0 ? 7 : 1)
    }
  }

  @Test(.serialized, arguments: ["0.0.0.0", "::"])
  func `the environment opens the network only if it says so`(host: String) async throws {
    try ExitValues.give("TapStartTests.5", host)
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let host = try ExitValues.take("TapStartTests.5", String.self)
      var environment = ["OTEL_EXPORTER_PROMETHEUS_HOST": host, "OTEL_EXPORTER_PROMETHEUS_PORT": "0"]
      let closed = try Tap.start(Tap.Configuration(environment: environment))
      #expect(closed.address == nil)
      await closed.shutdown()
      environment["SESSION_TAP_ALLOW_NETWORK"] = "1"
      let open = try Tap.start(Tap.Configuration(environment: environment))
      #expect(open.address != nil)
      await open.shutdown()
      exit(EXIT_SUCCESS)
    }
    let lines = try #require(result).said
    let remedy = "SESSION_TAP_ALLOW_NETWORK=1); the app runs, and its metrics are not served"
    #expect(lines.count == 2 && lines[0].contains("anybody could read") && lines[0].hasSuffix(remedy))
  }

  @Test(arguments: ["SESSION_TAP_BEARER_TOKEN_FILE", "SESSION_TAP_BASIC_PASSWORD_FILE"])
  func `credentials that the environment names and that cannot be read end no app, and nothing is served`(
    name: String
  ) async throws {
    var configuration = Tap.Configuration.test(environment: [name: "/no/such/file"]) { $0.servesLog = true }
    let tap = try Tap.start(configuration)
    #expect(await tap.flush() && tap.address == nil)
    let message = try #require(tap.logLines.last?.row("message"))
    #expect(message.hasPrefix("no credentials: /no/such/file: No such file or directory ("))
    #expect(message.hasSuffix("; the app runs, and its metrics are served as soon as that is over"))
    await tap.shutdown()
    configuration.endpoint?.access.bearerTokenFile = "/no/such/other"
    configuration.endpoint?.access.basicPasswordFile = nil
    #expect(throws: TapError.self) { try Tap.start(configuration) }
  }

  /// As often as that takes: here three times.
  @Test func `credentials that cannot be read yet are waited for`() async throws {
    struct Unreadable: Error {}
    let readings = Watched(0)
    let tap = try Tap.start(
      .test(environment: ["SESSION_TAP_BEARER_TOKEN_FILE": "/run/tokens"]) {
        $0.addressRetryInterval = .milliseconds(5)
        $0.endpoint?.access.readFile = { _, _ in
          readings.change { $0 += 1 }
          if readings.state <= 3 { throw Unreadable() }
          return Array("secret\n".utf8)
        }
      })
    _ = try await Poll.until("the address") { tap.address }
    #expect(readings.state >= 4)
    #expect(try await tap.get("/metrics").hasPrefix("HTTP/1.1 401 "))
    await tap.shutdown()
  }
}
