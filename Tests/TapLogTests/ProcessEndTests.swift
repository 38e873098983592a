import TapLog
import TestSupport

@Suite(.needs(.thread)) struct ProcessEndTests {
  /// Counts the lines that a flush has waited for.
  private final class FlushedSink: LogSink {
    static let shared = FlushedSink()
    private let lines = Mutex((written: 0, flushed: 0))

    var flushed: Int { lines.withLock { $0.flushed } }

    func write(_ lines: UnsafeRawBufferPointer) {
      self.lines.withLock { $0.written += lines.count { $0 == UInt8(ascii: "\n") } }
    }

    func flush() { lines.withLock { $0.flushed = $0.written } }
  }

  @Test func `waits for the lines that are on their way`() async throws {
    await #expect(processExitsWith: .exitCode(107)) {
      // The first that is registered is called last. The sink counts at a flush, for which nothing else asks.
      atexit { _exit(Int32(7 + FlushedSink.shared.flushed)) }
      let log = try RequestLog(to: .custom(FlushedSink.shared))
      for index in 0..<100 { log.log(.info, "\(index)") }
      withExtendedLifetime(log) { exit(0) }
    }
  }

  @Test func `does not wait for a reader that never comes`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.fifo")
    #expect(mkfifo(path, 0o600) == 0)
    try ExitValues.give("ProcessEndTests.2", path)
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("ProcessEndTests.2", String.self)
      let log = try RequestLog(to: .file(path))
      log.log(.info, "lost")
      exit(7)
    }
  }

  @Test func `loses no line of an app that shuts its log down on SIGTERM`() async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("ProcessEndTests.3", folder("requests.jsonl"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("ProcessEndTests.3", String.self)
      let log = try RequestLog(to: .file(path))
      signal(SIGTERM, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
      source.setEventHandler { exit(log.shutdown() ? 7 : 1) }
      for index in 0..<100 { log.log(.info, "\(index)") }
      source.setRegistrationHandler { kill(getpid(), SIGTERM) }
      source.activate()
      while true { pause() }
    }
    #expect(try folder.lines("requests.jsonl").count == 100)
  }

  @Test
  func `is not brought about by a folder that may not be written to; lines wait until it may`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path
    try ExitValues.give("ProcessEndTests.4", path)
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("ProcessEndTests.4", String.self)
      let log = try RequestLog(to: .file(path + "/requests.jsonl"))
      log.log(.info, "gone")
      guard log.flush(), unlink(path + "/requests.jsonl") == 0, chmod(path, 0o555) == 0 else { exit(1) }
      seteuid(65_534)  // Nothing is read-only for root.
      log.log(.info, "kept")
      try await Poll.until("a write error") { log.statistics.writeErrors > 0 }
      seteuid(getuid())
      chmod(path, 0o755)
      exit(log.shutdown() && log.statistics.droppedLines == 0 ? 7 : 1)
    }
    #expect(try folder.lines("requests.jsonl").count == 1)
  }

  @Test func `by SIGXFSZ does not come from the log`() async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("ProcessEndTests.5", folder("requests.jsonl"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("ProcessEndTests.5", String.self)
      var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
      setrlimit(__rlimit_resource_t(1), &limit)  // RLIMIT_FSIZE
      let log = try RequestLog(to: .file(path))
      for index in 0..<1_000 { log.log(.info, "\(index)") }
      log.shutdown(within: .milliseconds(200))
      let statistics = log.statistics
      exit(statistics.lines > 0 && statistics.droppedLines(.writeError) > 0 ? 7 : 1)
    }
    #expect(try folder.lines("requests.jsonl").count > 50)
  }
}
