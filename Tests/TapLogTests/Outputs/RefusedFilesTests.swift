import TestSupport

@testable import TapLog

/// What the system refuses. Each in a process of its own, whose limits, user or folder it changes.
@Suite(.needs(.thread)) struct RefusedFilesTests {
  /// Nothing is refused to root.
  ///
  /// - Returns: Why it fails.
  @discardableResult
  private static func asNobody<Failure: Error>(_ body: () throws(Failure) -> Void) -> Failure? {
    let before = geteuid()
    seteuid(65_534)
    defer { seteuid(before) }
    do {
      try body()
      return nil
    } catch {
      return error
    }
  }

  /// Sets a limit of this process, or sets it back.
  private static func limit(_ resource: Int32, to value: rlim_t?) throws {
    let resource = __rlimit_resource_t(UInt32(resource))
    var limit = rlimit()
    try #require(getrlimit(resource, &limit) == 0)
    limit.rlim_cur = value ?? limit.rlim_max
    try #require(setrlimit(resource, &limit) == 0)
  }

  @Test func `an old file that cannot be removed is a fault; one that has gone is not`() async {
    await #expect(processExitsWith: .success) {
      let log = try LogFolder(rotation: LogRotation(maximumSize: 1, keep: 0)) { folder in
        for number in 0..<2 { _ = try LogFolder.oldFile(number, in: folder) }
      }
      let old = try #require(RotatedFiles(ofLogAt: log.path))
      func removeExcess() throws(System.Failure) {
        try old.removeExcess(by: LogRotation(maximumSize: 1, keep: 0), newest: "2026")
      }
      try #require(chmod(log.folder.path, 0o555) == 0)
      #expect(Self.asNobody(removeExcess) == .denied)
      #expect(try log.folder.names.count == 3)
      try #require(chmod(log.folder.path, 0o755) == 0)
      try removeExcess()
      #expect(try log.folder.names == ["requests.jsonl"])
      try removeExcess()
    }
  }

  @Test func `old files that cannot be listed are a fault, and the log goes on`() async {
    await #expect(processExitsWith: .success) {
      let log = try LogFolder(rotation: LogRotation(maximumSize: 1, keep: 1))
      // To write and to search is allowed, to list is not.
      try #require(chmod(log.folder.path, 0o333) == 0)
      Self.asNobody { try log.write("0", "1", "2", "3") }
      #expect(log.faults.count == 3)
      try #require(chmod(log.folder.path, 0o755) == 0)
      try log.write("last")
      #expect(try log.files() == [["3"], ["last"]] && log.faults.count == 3)
    }
  }

  @Test func `a file that cannot be moved aside goes on until it can, and one that cannot be made says why`()
    async
  {
    await #expect(processExitsWith: .success) {
      let log = try LogFolder(rotation: LogRotation(maximumSize: 1, keep: 9))
      try log.write("0")
      try #require(chmod(log.folder.path, 0o555) == 0)
      Self.asNobody { try log.write("1", "2") }
      let failure = Self.asNobody { () throws(System.Failure) in
        _ = try OpenFile(log.folder("other.jsonl"), permissions: 0o600)
      }
      #expect(failure == .denied && log.faults.count == 2)
      try #require(chmod(log.folder.path, 0o755) == 0)
      try log.write("3")
      #expect(log.faults.count == 2)
      #expect(try log.files() == [["0", "1", "2"], ["3"]])
    }
  }

  @Test(.enabled(if: getuid() == 0, "only root becomes another user"))
  func `a log that gets no thread says so, and closes what it has opened`() async {
    await #expect(processExitsWith: .success) {
      let sink = CollectingSink()
      // The limit is for the threads of the real user, and for none of root.
      try #require(setreuid(65_534, uid_t.max) == 0)
      try Self.limit(6, to: 1)  // RLIMIT_NPROC
      let error = Self.asNobody { () throws(RequestLogError) in _ = try RequestLog(to: .custom(sink)) }
      try Self.limit(6, to: nil)
      try #require(setreuid(0, uid_t.max) == 0)
      #expect(error?.code == .cannotStartWriter && sink.isClosed)
      let reason = "Resource temporarily unavailable; raise the limit of threads (ulimit -u)"
      #expect(error?.description == "cannot start the log's writer thread: \(reason)")
    }
  }

  @Test func `a log with a relative path stays in its folder when the app goes to another`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      try #require(chdir(folder.path) == 0)
      let log = try RequestLog(to: .file("requests.jsonl"))
      // Where no file can be made.
      try #require(chdir("/proc") == 0)
      log.write("line")
      #expect(log.shutdown())
      #expect(try folder.lines("requests.jsonl").count == 1)
    }
  }

  @Test func `a line that had no room on the disk is ended once it has, in the same file`() async {
    await #expect(processExitsWith: .success) {
      let log = try LogFolder(rotation: LogRotation(maximumSize: 6))
      signal(SIGXFSZ, SIG_IGN)
      try Self.limit(1, to: 5)  // RLIMIT_FSIZE
      var batch = LineBuffer("a line\n")
      var results = [log.output.write(&batch), log.output.write(&batch)]
      try Self.limit(1, to: nil)
      results.append(log.output.write(&batch))
      let reason = "File too large; choose a path where this process can append to a file"
      let written = LogOutputResult(written: [.info: 1], bytes: 2)
      #expect(results == [LogOutputResult(bytes: 5), .failed(reason), written])
      #expect(try log.files() == [["a line"]])
    }
  }
}
