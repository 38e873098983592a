import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct SynchronizationTests {
  private func output(interval: Duration?, _ folder: TemporaryFolder) throws -> FileOutput {
    let configuration = with(RequestLog.Configuration()) { $0.synchronizationInterval = interval }
    return try FileOutput(folder("requests.jsonl"), configuration, LogFaults(of: "under test"))
  }

  private func write(to output: inout FileOutput) {
    var batch = LineBuffer("line\n")
    #expect(output.write(&batch).bytes == 5)
  }

  @Test func `is due an interval after the first write, and then not before another one`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    var output = try output(interval: .seconds(10), folder)
    #expect(output.maintain(now: Instant.now) == .never)
    let before = Instant.now
    write(to: &output)
    let due = output.maintain(now: before)
    #expect(due >= before.advanced(by: .seconds(10)))
    #expect(due <= Instant.now.advanced(by: .seconds(10)))
    write(to: &output)
    #expect(output.maintain(now: before) == due)
    #expect(output.maintain(now: due) == .never)
    #expect(output.maintain(now: before) == .never)
    write(to: &output)
    output.flush()
    #expect(output.maintain(now: before) == .never)
    // Before a file is left, too.
    write(to: &output)
    output.close()
    #expect(output.maintain(now: before) == .never)
  }

  @Test func `leaves no descriptor of the folder behind`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let counts = try (0..<3).map { _ in
        let log = try RequestLog(
          to: .file(folder("requests.jsonl")),
          configuration: with(.init()) { $0.synchronizationInterval = .seconds(1) })
        log.log(.info, "line")
        #expect(log.shutdown())
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      }
      #expect(Set(counts).count == 1)
    }
  }

  @Test func `is left to the system unless asked for`() throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    var output = try output(interval: nil, folder)
    write(to: &output)
    #expect(output.maintain(now: .never) == .never)
    output.flush()
    output.close()
  }
}
