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

  /// The kernel lets it be written to and refuses to synchronize it, so that each attempt is counted. It
  /// refuses the folder, too, which is no fault.
  private static let refusing = "/proc/self/comm"
  private static var isRefused: Bool {
    let descriptor = open(refusing, O_WRONLY | O_CLOEXEC)
    defer { close(descriptor) }
    return descriptor >= 0 && fsync(descriptor) != 0 && errno == EINVAL
  }

  @Test(.enabled(if: SynchronizationTests.isRefused, "no file refuses it"))
  func `is asked of the system by a flush, when it is due, and before a file is left`() async {
    await #expect(processExitsWith: .success) {
      let faults = LogFaults(of: "under test", isQuiet: true)
      let configuration = with(RequestLog.Configuration()) { $0.synchronizationInterval = .seconds(10) }
      var output = try FileOutput(Self.refusing, configuration, faults)
      output.flush()
      #expect(faults.count == 0)
      try output.write(lines: "a")
      #expect(faults.count == 0)
      for _ in 0..<2 {
        output.flush()
        #expect(faults.count == 1)
      }
      try output.write(lines: "b")
      #expect(output.maintain(now: .never) == .never)
      #expect(faults.count == 2)
      try output.write(lines: "c")
      output.close()
      #expect(faults.count == 3)
    }
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
