import TapLog
import TestSupport

@Suite(.needs(.thread)) struct ProcessEndTests {
  private static let sink = CollectingSink()

  @Test func `waits for the lines that are on their way`() async throws {
    await #expect(processExitsWith: .exitCode(107)) {
      // The first that is registered is called last. Nothing else asks for a flush.
      atexit {
        let sink = ProcessEndTests.sink
        _exit(Int32(sink.flushes > 0 ? 7 + sink.lines.count : 1))
      }
      let log = try RequestLog(to: .custom(Self.sink))
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

  @Test func `is brought about neither by a FIFO's reader that leaves nor by one that reads nothing`()
    async throws
  {
    let (folder, path) = try RequestLog.emptyFolder()
    try #require(mkfifo(path, 0o600) == 0)
    let log = try RequestLog(to: .file(path))
    log.log(.info, "without a reader")
    try await Poll.until("a write error") { log.statistics.writeErrors > 0 }
    let (reader, errors) = (open(path, O_RDONLY | O_NONBLOCK), log.statistics.writeErrors)
    try #require(reader >= 0)
    for _ in 0..<2_000 { log.log(.info, String(repeating: "x", count: 200)) }
    // The pipe is full and not read: flushing ends at its deadline.
    #expect(!log.flush(within: .milliseconds(50)))
    close(reader)
    try await Poll.until("EPIPE") { log.statistics.writeErrors > errors }
    #expect(!log.shutdown(within: .milliseconds(1)))
    try await Poll.until("all to be counted") { log.statistics.lines + log.statistics.droppedLines == 2_001 }
    withExtendedLifetime(folder) {}
  }
}
