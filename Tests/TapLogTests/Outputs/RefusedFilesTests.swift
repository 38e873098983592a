import TestSupport

@testable import TapLog

/// What the system refuses. Each in a process of its own, whose limits, user or folder it changes.
@Suite(.needs(.thread)) struct RefusedFilesTests {
  /// Nothing is refused to root.
  private static func asNobody<Result>(_ body: () throws -> Result) rethrows -> Result {
    let before = geteuid()
    seteuid(65_534)
    defer { seteuid(before) }
    return try body()
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
      let failure = Self.asNobody { () -> System.Failure? in
        do throws(System.Failure) {
          try removeExcess()
          return nil
        } catch {
          return error
        }
      }
      #expect(failure == .denied)
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
      try Self.asNobody { try log.write("0", "1", "2", "3") }
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
      let failure = try Self.asNobody { () -> System.Failure? in
        try log.write("1", "2")
        do throws(System.Failure) {
          _ = try OpenFile(log.folder("other.jsonl"), permissions: 0o600)
          return nil
        } catch {
          return error
        }
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
      let resource = __rlimit_resource_t(6)  // RLIMIT_NPROC
      var limit = rlimit()
      try #require(getrlimit(resource, &limit) == 0)
      var one = rlimit(rlim_cur: 1, rlim_max: limit.rlim_max)
      // The limit is for the threads of the real user, and for none of root.
      try #require(setreuid(65_534, uid_t.max) == 0)
      try #require(setrlimit(resource, &one) == 0)
      let (error, isClosed) = Self.asNobody { () -> (RequestLogError?, Bool) in
        do throws(RequestLogError) {
          _ = try RequestLog(to: .custom(sink))
          return (nil, sink.isClosed)
        } catch {
          return (error, sink.isClosed)
        }
      }
      try #require(setrlimit(resource, &limit) == 0)
      try #require(setreuid(0, uid_t.max) == 0)
      #expect(error?.code == .cannotStartWriter && isClosed)
      let reason = System.Failure.again.text
      #expect(
        error?.description
          == "cannot start the log's writer thread: \(reason); raise the limit of threads (ulimit -u)")
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
      let resource = __rlimit_resource_t(1)  // RLIMIT_FSIZE
      var limit = rlimit()
      try #require(getrlimit(resource, &limit) == 0)
      var full = rlimit(rlim_cur: 5, rlim_max: limit.rlim_max)
      try #require(setrlimit(resource, &full) == 0)
      var batch = LineBuffer("a line\n")
      var results = [log.output.write(&batch), log.output.write(&batch)]
      try #require(setrlimit(resource, &limit) == 0)
      results.append(log.output.write(&batch))
      let reason = "File too large; choose a path where this process can append to a file"
      #expect(
        results == [
          LogOutputResult(bytes: 5), .failed(reason), LogOutputResult(written: [.info: 1], bytes: 2),
        ])
      #expect(try log.files() == [["a line"]])
    }
  }
}
