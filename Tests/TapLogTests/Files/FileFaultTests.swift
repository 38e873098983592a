import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct FileFaultTests {
  func message(_ line: String) -> String { String(line.firstMatch(of: /"message":"([^"]*)"/)?.1 ?? "") }

  @Test func `follows the path when the file is moved away and another one is there`() throws {
    let (folder, log) = try RequestLog.inFolder()
    log.write("old")
    try FileManager.default.moveItem(atPath: folder("requests.jsonl"), toPath: folder("requests.jsonl.1"))
    try Data().write(to: URL(fileURLWithPath: folder("requests.jsonl")))
    log.log(.info, "new")
    #expect(log.shutdown())
    #expect(try folder.lines("requests.jsonl.1").map(message) == ["old"])
    #expect(try folder.lines("requests.jsonl").map(message) == ["new"])
    #expect(log.statistics.writeErrors == 0)
  }

  @Test func `creates the file again when it is removed`() throws {
    let (folder, log) = try RequestLog.inFolder()
    log.write("gone")
    try FileManager.default.removeItem(atPath: folder("requests.jsonl"))
    log.log(.info, "new")
    #expect(log.shutdown())
    #expect(try folder.lines("requests.jsonl").map(message) == ["new"])
    #expect(log.statistics.droppedLines == 0)
  }

  @Test func `leaves it to logrotate to put a file in the place of the one that it moves away`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    var output = try FileOutput(path, .init(), LogFaults(of: "under test"))
    try System.rename(path, to: folder("requests.jsonl.1"))
    var batch = LineBuffer("line\n")
    guard case .busy = output.write(&batch).state else {
      Issue.record("the log does not wait")
      return
    }
    #expect(!FileManager.default.fileExists(atPath: path))
    try folder.write("", to: "requests.jsonl")
    #expect(output.write(&batch).state == .ready)
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["line"])
    #expect(try folder.lines("requests.jsonl.1").isEmpty)
  }

  @Test func `changes no permissions of a file that has come with lines in it`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    try folder.write("old\n", to: "requests.jsonl")
    try #require(chmod(path, 0o646) == 0)
    var output = try FileOutput(path, .init(), LogFaults(of: "under test"))
    try System.rename(path, to: folder("requests.jsonl.1"))
    try folder.write("of another\n", to: "requests.jsonl")
    try #require(chmod(path, 0o600) == 0)
    try output.write(lines: "next")
    output.close()
    #expect(folder.mode(of: "requests.jsonl") == 0o600)
    #expect(try folder.lines("requests.jsonl") == ["of another", "next"])
  }

  @Test func `waits anew for each file that is moved away`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    var output = try FileOutput(path, .init(), LogFaults(of: "under test"))
    try System.rename(path, to: folder("requests.jsonl.1"))
    // The log puts one there itself at the end of its wait.
    try output.write(lines: "one")
    try System.rename(path, to: folder("requests.jsonl.2"))
    var batch = LineBuffer("two\n")
    let state = output.write(&batch).state
    output.close()
    guard case .busy = state else {
      Issue.record("the log does not wait")
      return
    }
    #expect(try folder.lines("requests.jsonl.2") == ["one"])
  }

  @Test func `goes on at the new end of a file that was truncated, without a hole`() throws {
    let (folder, log) = try RequestLog.inFolder()
    log.write("old")
    #expect(truncate(folder("requests.jsonl"), 0) == 0)
    log.log(.info, "new")
    #expect(log.shutdown())
    #expect(try folder.lines("requests.jsonl").map(message) == ["new"])
  }

  @Test func `keeps lines while the folder is away, and writes them when it is back`() async throws {
    let folder = try TemporaryFolder()
    let inner = folder("logs")
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    let log = try RequestLog(to: .file(inner + "/requests.jsonl"))
    log.write("a")
    try FileManager.default.moveItem(atPath: inner, toPath: folder("away"))
    log.log(.info, "b")
    try await Poll.until("a write error") { log.statistics.writeErrors > 0 }
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    log.log(.info, "c")
    #expect(log.shutdown())
    #expect(try folder.lines("logs/requests.jsonl").map(message) == ["b", "c"])
    #expect(log.statistics.droppedLines == 0)
  }

  @Test
  func `drops what does not fit while the disk is full, counts it, and ends at the deadline`() async throws {
    let configuration = with(RequestLog.Configuration()) { $0.queueLineLimit = 10 }
    let log = try RequestLog(to: .file("/dev/full"), configuration: configuration)
    log.log(.info, "first")
    try await Poll.until("a write error") { log.statistics.writeErrors > 0 }
    for _ in 0..<100 { log.log(.info, "more") }
    #expect(log.statistics.droppedLines(.writeError) == 90)
    #expect(!log.flush(within: .milliseconds(1)))
    #expect(!log.shutdown(within: .milliseconds(1)))
    try await Poll.until("all to be counted") { log.statistics.droppedLines == 101 }
    #expect(log.statistics.lines == 0)
  }

  @Test func `waits for the reader of a FIFO, and for the next one`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.fifo")
    #expect(mkfifo(path, 0o600) == 0)
    let log = try RequestLog(to: .file(path))
    log.log(.info, "first")
    try await Poll.until("a write error") { log.statistics.writeErrors > 0 }
    for word in ["first", "second"] {
      let reader = open(path, O_RDONLY | O_NONBLOCK)
      #expect(reader >= 0)
      if word != "first" { log.log(.info, word) }
      #expect(log.flush(within: .seconds(60)))
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = read(reader, &bytes, bytes.count)
      #expect(
        String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).contains("\"message\":\"\(word)\""))
      close(reader)
    }
    #expect(log.shutdown())
    #expect(log.statistics.lines == 2)
  }

  @Test func `does not write into another file that has got the descriptor of its own`() throws {
    let folder = try TemporaryFolder()
    var output = try FileOutput(folder("requests.jsonl"), .init(), LogFaults(of: "under test"))
    let descriptor = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
    let other = open(folder("other"), O_WRONLY | O_CREAT, 0o600)
    #expect(dup2(other, descriptor) == descriptor)
    var batch = LineBuffer("line\n")
    #expect(output.write(&batch).bytes == 5)
    output.close()
    #expect(try folder.lines("other").isEmpty)
    #expect(try folder.lines("requests.jsonl") == ["line"])
    // The log has not closed what is not its own.
    #expect(fcntl(descriptor, F_GETFD) >= 0)
    close(descriptor)
    close(other)
  }

  @Test func `reopens the file when its descriptor is closed by other code`() throws {
    let folder = try TemporaryFolder()
    var output = try FileOutput(folder("requests.jsonl"), .init(), LogFaults(of: "under test"))
    let descriptor = try #require(OpenDescriptors.of(folder("requests.jsonl")).first)
    // Closed as the log sees it: no other thread may get the number in between.
    let null = open("/dev/null", O_WRONLY)
    #expect(dup2(null, descriptor) == descriptor)
    var batch = LineBuffer("line\n")
    #expect(output.write(&batch).state == .ready)
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["line"])
    close(descriptor)
    close(null)
  }

  @Test func `gives up the rest of a line that another process has written behind`() throws {
    let folder = try TemporaryFolder()
    var output = try FileOutput(folder("requests.jsonl"), .init(), LogFaults(of: "under test"))
    var batch = LineBuffer("torn\n", "next\n")
    _ = batch.take(2)  // As after a short write that went unnoticed.
    try Data("other\n".utf8).write(to: URL(fileURLWithPath: folder("requests.jsonl")))
    let result = output.write(&batch)
    #expect(result.dropped == 1)
    batch = LineBuffer("torn\n")
    _ = batch.take(2)
    try Data("another\n".utf8).write(to: URL(fileURLWithPath: folder("requests.jsonl")))
    let rest = output.write(&batch)
    #expect(rest.dropped == 1 && rest.state == .ready && batch.isEmpty)
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["another"])
  }

  @Test func `goes on with a torn line, and rotates behind it`() throws {
    let folder = try TemporaryFolder()
    let configuration = with(RequestLog.Configuration()) { $0.rotation = LogRotation(maximumSize: 8) }
    var output = try FileOutput(folder("requests.jsonl"), configuration, LogFaults(of: "under test"))
    var batch = LineBuffer("torn\n", "second\n", "third\n")
    _ = batch.take(2)
    while !batch.isEmpty { #expect(output.write(&batch).state == .ready) }
    output.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(try names.map(folder.lines) == [["third"], ["rn"], ["second"]])
  }

  /// logrotate's `create` chooses them.
  @Test func `leaves a file that another process made its permissions`() throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    var output = try FileOutput(path, .init(), LogFaults(of: "under test"))
    try output.write(lines: "first")
    try #require(chmod(path, 0o640) == 0)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
    System.close(try System.create(path, permissions: 0o600))
    try output.write(lines: "second")
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["second"])
    #expect(folder.mode(of: "requests.jsonl") == 0o600)
  }

  @Test func `ends a line that had no room on the disk once it has, in the same file`() async {
    await #expect(processExitsWith: .success) {
      let (folder, path) = try RequestLog.emptyFolder()
      var output = try FileOutput(
        path, with(.init()) { $0.rotation = LogRotation(maximumSize: 6) }, LogFaults(of: "under test"))
      signal(SIGXFSZ, SIG_IGN)
      let resource = __rlimit_resource_t(1)  // RLIMIT_FSIZE
      var limit = rlimit()
      try #require(getrlimit(resource, &limit) == 0)
      var full = rlimit(rlim_cur: 5, rlim_max: limit.rlim_max)
      try #require(setrlimit(resource, &full) == 0)
      var batch = LineBuffer("a line\n")
      #expect(output.write(&batch).bytes == 5)
      let result = output.write(&batch)
      #expect(result.isFailed && result.dropped == 0)
      try #require(setrlimit(resource, &limit) == 0)
      #expect(output.write(&batch).written == [.info: 1])
      output.close()
      #expect(try folder.lines("requests.jsonl") == ["a line"])
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["requests.jsonl"])
    }
  }

  @Test(arguments: [0, 1, 5])
  func `is not disturbed by signals`(times: Int) throws {
    var left = times
    let result = try System.uninterrupted {
      if left == 0 { return 7 }
      left -= 1
      errno = EINTR
      return -1
    }
    #expect(result == 7)
  }

  @Test func `ends the app neither by SIGPIPE nor by a pipe that is not read`() async throws {
    var ends: [Int32] = [0, 0]
    #expect(Glibc.pipe(&ends) == 0)
    let log = try RequestLog(to: .descriptor(ends[1]))
    for _ in 0..<2_000 { log.log(.info, String(repeating: "x", count: 200)) }
    // The pipe is full and not read: flushing ends at its deadline.
    #expect(!log.flush(within: .milliseconds(50)))
    close(ends[0])
    try await Poll.until("EPIPE") { log.statistics.writeErrors > 0 }
    #expect(!log.shutdown(within: .milliseconds(1)))
    try await Poll.until("all to be counted") { log.statistics.lines + log.statistics.droppedLines == 2_000 }
    close(ends[1])
  }
}

/// The descriptors of this process, by what they are open on.
enum OpenDescriptors {
  static func of(_ path: String) -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap(Int32.init).filter { descriptor in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) == path
    }
  }
}
