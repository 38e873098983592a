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

  private static func names(in folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  private static func oldFiles(_ count: Int, in folder: TemporaryFolder) throws -> [String] {
    let names = (0..<count).map { "requests.jsonl.20261121T09300\($0).000000Z" }
    for name in names {
      try folder.write("lines\n", to: name)
      try #require(chmod(folder(name), 0o644) == 0)
    }
    return names
  }

  @Test func `an old file that cannot be compressed keeps no other from it, and nothing half done is left`()
    async
  {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let old = try Self.oldFiles(3, in: folder)
      try #require(chmod(folder.path, 0o777) == 0)
      let faults = LogFaults(of: "under test", isQuiet: true)
      let rotation = LogRotation(maximumSize: 1, keep: 9, compresses: true)
      let files = RotatedFiles(path: folder("requests.jsonl"), rotation, faults)
      files.removeExcess()
      #expect(faults.count == 0)
      signal(SIGXFSZ, SIG_IGN)
      let resource = __rlimit_resource_t(1)  // RLIMIT_FSIZE
      var limit = rlimit()
      try #require(getrlimit(resource, &limit) == 0)
      var full = rlimit(rlim_cur: 5, rlim_max: limit.rlim_max)
      try #require(setrlimit(resource, &full) == 0)
      _ = files.run(at: .now)
      try #require(setrlimit(resource, &limit) == 0)
      #expect(faults.count == 1)
      #expect(try Self.names(in: folder) == old)
      // The first that is to be compressed cannot be read.
      try #require(chmod(folder(old[0]), 0) == 0)
      Self.asNobody { _ = files.run(at: .now) }
      #expect(faults.count == 2)
      #expect(try Self.names(in: folder) == [old[0], old[1] + ".gz", old[2]])
    }
  }

  @Test func `an old file that cannot be removed is a fault; one that has gone, or is none, is not`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let old = try Self.oldFiles(2, in: folder)
      let others = (0..<2).map { "requests.jsonl.20261122T09300\($0).000000Z" }
      let manager = FileManager.default
      try manager.createDirectory(atPath: folder(others[0]), withIntermediateDirectories: false)
      try manager.createSymbolicLink(atPath: folder(others[1]), withDestinationPath: "no such file")
      let faults = LogFaults(of: "under test", isQuiet: true)
      let rotation = LogRotation(maximumSize: 1, keep: -1)
      let files = RotatedFiles(path: folder("requests.jsonl"), rotation, faults)
      try #require(chmod(folder.path, 0o555) == 0)
      Self.asNobody { files.removeExcess() }
      #expect(faults.count == 1)
      #expect(try Self.names(in: folder) == old + others)
      try #require(chmod(folder.path, 0o755) == 0)
      files.removeExcess()
      #expect(faults.count == 1)
      #expect(try Self.names(in: folder) == others)
    }
  }

  @Test func `a file that cannot be moved aside goes on until it can, and one that cannot be made says why`()
    async
  {
    await #expect(processExitsWith: .success) {
      let (folder, path) = try RequestLog.emptyFolder()
      let faults = LogFaults(of: "under test", isQuiet: true)
      let rotation = LogRotation(maximumSize: 1, keep: 9)
      var output = try FileOutput(path, with(.init()) { $0.rotation = rotation }, faults)
      try output.write(lines: "0")
      try #require(chmod(folder.path, 0o555) == 0)
      try Self.asNobody { try output.write(lines: "1", "2") }
      #expect(faults.count == 2)
      let failure = Self.asNobody { () -> System.Failure? in
        do throws(System.Failure) {
          _ = try OpenFile.open(folder("other.jsonl"), permissions: 0o600)
          return nil
        } catch {
          return error
        }
      }
      #expect(failure == .denied)
      try #require(chmod(folder.path, 0o755) == 0)
      try output.write(lines: "3")
      output.close()
      #expect(faults.count == 2)
      let files = try Self.names(in: folder).map { try folder.lines($0) }
      #expect(files == [["3"], ["0", "1", "2"]])
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
}
