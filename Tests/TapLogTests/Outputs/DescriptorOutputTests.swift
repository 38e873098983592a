import TestSupport

@testable import TapLog

/// Lines for a terminal, a FIFO or a descriptor of the app.
@Suite(.needs(.thread)) struct DescriptorOutputTests {
  /// Writes until the output takes no more, and returns what it says then, and how long that call took.
  private func fill(
    _ log: LogFolder, _ batch: inout LineBuffer
  ) throws -> (result: LogOutputResult, time: Duration) {
    let deadline = Deadline()
    while true {
      let start = Instant.now
      let result = log.output.write(&batch)
      if result.state != .ready { return (result, start.duration(to: .now)) }
      try deadline.check("output that takes no more")
    }
  }

  @Test func `waits for a terminal that nobody reads, and goes on when it is read`() async throws {
    var (terminal, device): (Int32, Int32) = (-1, -1)
    try #require(openpty(&terminal, &device, nil, nil, nil) == 0)
    defer { for descriptor in [terminal, device] { close(descriptor) } }
    let log = try LogFolder(String(cString: try #require(ttyname(device))))
    var batch = LineBuffer()
    for _ in 0..<10_000 { batch.append(String(repeating: "x", count: 60) + "\n") }
    // Of one call: the kernel moves bytes on by itself, so the next one may find room.
    let (result, time) = try fill(log, &batch)
    guard case .busy(let pause) = result.state else {
      Issue.record("the terminal fails")
      return
    }
    // Either the call has waited, or the caller is to wait before the next.
    #expect(time + pause >= .milliseconds(20))
    let waiting = batch.byteCount
    var bytes = [UInt8](repeating: 0, count: 65_536)
    #expect(read(terminal, &bytes, bytes.count) > 0)
    // The kernel moves what is behind by itself, later.
    try await Poll.until("room in the terminal") { log.output.write(&batch).bytes > 0 }
    #expect(batch.byteCount < waiting)
  }

  /// A write of at most `PIPE_BUF` bytes does not mix with that of another process (POSIX, write()).
  @Test(arguments: [false, true])
  func `gives a FIFO whole lines of up to 4,096 bytes in one call`(isDescriptor: Bool) throws {
    let (folder, path) = try RequestLog.emptyFolder()
    #expect(mkfifo(path, 0o600) == 0)
    let reader = try reader(of: path)
    let writer = open(path, O_WRONLY | O_CLOEXEC)
    defer { for descriptor in [reader, writer] { close(descriptor) } }
    let destination: RequestLog.Destination = isDescriptor ? .descriptor(writer) : .file(path)
    var output = try destination.places[0].makeOutput(.init(), LogFaults(of: "under test"))
    defer { output.close() }
    var batch = LineBuffer()
    for length in [2_048, 2_048, 2_048, 2_049, 1] {
      batch.append(String(repeating: "x", count: length - 1) + "\n")
    }
    for (lines, bytes) in [(2, 4_096), (1, 2_048), (2, 2_050)] as [(UInt64, Int)] {
      let result = output.write(&batch)
      #expect(result.written.total == lines && result.bytes == bytes)
    }
    withExtendedLifetime(folder) {}
  }

  @Test func `gives a file all lines in one call, by its descriptor too`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    let descriptor = try System.create(path, permissions: 0o600)
    defer { System.close(descriptor) }
    let line = String(repeating: "x", count: 4_095) + "\n"
    for place in [RequestLog.Destination.descriptor(descriptor), .file(path)] {
      var output = try place.places[0].makeOutput(.init(), LogFaults(of: "under test"))
      var batch = LineBuffer(line, line, line)
      let result = output.write(&batch)
      #expect(result.written.total == 3 && batch.isEmpty)
      output.close()
    }
    #expect(try folder.lines("requests.jsonl").count == 6)
  }

  private func reader(of path: String) throws -> Int32 {
    let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(reader >= 0)
    return reader
  }

  /// Writes until the output fails. A process that another test is starting may have the reader's descriptor
  /// for a moment.
  private func fail(_ log: LogFolder, _ batch: inout LineBuffer) async throws -> LogOutputResult {
    try await Poll.until("the reader's end") {
      if batch.isEmpty { batch.append("line\n") }
      // The log's own thread gets no signals.
      var (signals, before) = (sigset_t(), sigset_t())
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, &before)
      let result = log.output.write(&batch)
      var now = timespec()
      sigtimedwait(&signals, nil, &now)
      pthread_sigmask(SIG_SETMASK, &before, nil)
      return result.isFailed ? result : nil
    }
  }

  @Test func `keeps whole lines for a FIFO's next reader, and begins with one if the last left in a line`()
    async throws
  {
    let log = try LogFolder { try #require(mkfifo($0("requests.jsonl"), 0o600) == 0) }
    var reader = try reader(of: log.path)
    try log.write("first")
    close(reader)
    var batch = LineBuffer()
    let noReader = "it has no reader; start one"
    #expect(try await fail(log, &batch) == .failed(noReader))
    #expect(batch.lines == ["line\n"])
    reader = try self.reader(of: log.path)
    batch = LineBuffer(String(repeating: "x", count: 200_000) + "\n", "next\n")
    #expect(try fill(log, &batch).result.state == .busy(.zero))
    #expect(batch.isFirstTorn)
    close(reader)
    #expect(try await fail(log, &batch) == LogOutputResult(dropped: 1, state: .failed(noReader)))
    reader = try self.reader(of: log.path)
    defer { close(reader) }
    #expect(log.output.write(&batch).written.total == 1)
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(reader, &bytes, bytes.count)
    #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "next\n")
  }
}
