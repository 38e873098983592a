import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct LogRotationTests {
  private let day: Int64 = 86_400_000_000_000

  @Test func `is due by size, for whole lines`() {
    let rotation = LogRotation(maximumSize: 1_000)
    #expect(rotation.capacity(size: 0, modified: 0, now: 0, next: 100) == 1_000)
    #expect(rotation.capacity(size: 0, modified: 0, now: 0, next: 2_000) == 2_000)
    #expect(rotation.capacity(size: 900, modified: 0, now: 0, next: 100) == 100)
    #expect(rotation.capacity(size: 901, modified: 0, now: 0, next: 100) == nil)
    #expect(rotation.capacity(size: 5_000, modified: 0, now: 0, next: 1) == nil)
  }

  @Test func `is due by time, at midnight in UTC, and not when a clock is set back`() {
    let rotation = LogRotation(interval: .seconds(86_400))
    #expect(rotation.capacity(size: 1, modified: day, now: 2 * day - 1, next: 1) == .max)
    #expect(rotation.capacity(size: 1, modified: day, now: 2 * day, next: 1) == nil)
    #expect(rotation.capacity(size: 0, modified: day, now: 2 * day, next: 1) == .max)
    #expect(rotation.capacity(size: 1, modified: 2 * day, now: day, next: 1) == .max)
    let both = LogRotation(maximumSize: 1_000, interval: .seconds(86_400))
    #expect(both.capacity(size: 1, modified: day, now: 2 * day, next: 1) == nil)
    #expect(both.capacity(size: 900, modified: day, now: 2 * day - 1, next: 100) == 100)
    #expect(both.capacity(size: 901, modified: day, now: 2 * day - 1, next: 100) == nil)
  }

  @Test func `has periods of a second at least`() {
    let rotation = LogRotation(interval: .milliseconds(1))
    #expect(rotation.capacity(size: 1, modified: day, now: day + 999_999_999, next: 1) == .max)
    #expect(rotation.capacity(size: 1, modified: day, now: day + 1_000_000_000, next: 1) == nil)
  }

  private static func rotated(_ folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "requests.jsonl" }
      .sorted()
  }

  /// In a process of its own, as others below: a child that is started has a copy of every descriptor
  /// until its exec, and with it the lock of a folder or a file, which is then left until the next rotation.
  @Test func `moves full files aside, and loses no line`() async {
    await #expect(processExitsWith: .success) {
      let (folder, log) = try RequestLog.inFolder {
        $0.rotation = LogRotation(maximumSize: 10_000, keep: 999)
      }
      for index in 0..<1_000 { log.log(.info, "\(index)") }
      #expect(log.shutdown())
      let names = try Self.rotated(folder)
      #expect(names.count >= 7)
      var messages: [String] = []
      for name in names + ["requests.jsonl"] {
        let lines = try folder.lines(name)
        #expect(lines.reduce(0) { $0 + $1.utf8.count + 1 } <= 10_000)
        messages += lines.compactMap { $0.firstMatch(of: /"message":"(\d+)"/).map { String($0.1) } }
      }
      #expect(messages == (0..<1_000).map { "\($0)" })
    }
  }

  @Test(.enabled(if: Tool.isUsable("gzip"), "gzip is not installed"))
  func `keeps some old files, compresses all but the newest, and leaves other files alone`() async {
    await #expect(processExitsWith: .success) {
      let (folder, log) = try RequestLog.inFolder {
        $0.rotation = LogRotation(maximumSize: 2_000, keep: 3, compresses: true)
      }
      for name in ["requests.jsonl.1", "requests.jsonl.20261121T093000.123456Z.txt", "other"] {
        try folder.write("x", to: name)
      }
      for index in 0..<200 { log.log(.info, "\(index)") }
      #expect(log.shutdown())
      let names = try await Poll.until("compressed files") {
        let names = try Self.rotated(folder)
        return names.count == 6 && names.count { $0.hasSuffix(".gz") } == 2 ? names : nil
      }
      #expect(names.contains("requests.jsonl.1") && names.contains("other"))
      let gzip = try Tool("gzip")
      for name in names where name.hasSuffix(".gz") {
        let result = try await gzip.run(["-dc", folder(name)])
        #expect(result.status == 0)
        #expect(result.output.hasPrefix("{\"timestamp\""))
        #expect(result.output.utf8.count <= 2_000)
        let permissions = try FileManager.default.attributesOfItem(atPath: folder(name))[.posixPermissions]
        #expect((permissions as? Int).map { $0 & ~0o640 } == 0)
      }
    }
  }

  @Test func `moves a file of an earlier period whose last line a killed process left unfinished`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    try folder.write("whole\ntorn", to: "requests.jsonl")
    var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
    try #require(utimes(path, &times) == 0)
    var output = try FileOutput(
      path, with(.init()) { $0.rotation = LogRotation(interval: .seconds(3_600)) },
      LogFaults(of: "under test"))
    try output.write(lines: "new")
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["new"])
    #expect(try Self.rotated(folder).map { try folder.lines($0) } == [["whole", "torn"]])
  }

  @Test(.enabled(if: Tool.isUsable("gzip"), "gzip is not installed"), arguments: [0o600, 0o646])
  func `gives the next file and the compressed one the permissions of the file`(permissions: Int) async throws
  {
    let (folder, path) = try RequestLog.emptyFolder()
    try folder.write("old\n", to: "requests.jsonl")
    try #require(chmod(path, mode_t(permissions)) == 0)
    var output = try FileOutput(
      path, with(.init()) { $0.rotation = LogRotation(maximumSize: 1, compresses: true) },
      LogFaults(of: "under test"))
    for index in 0..<3 { try output.write(lines: "\(index)") }
    try await Poll.until("compressed files") { try Self.rotated(folder).count { $0.hasSuffix(".gz") } == 2 }
    // One that is removed meanwhile, too.
    try System.rename(path, to: folder("moved"))
    try output.write(lines: "next")
    output.close()
    for name in try Self.rotated(folder) + ["requests.jsonl"] {
      #expect(folder.mode(of: name) == UInt32(permissions), "\(name)")
    }
  }

  @Test(.enabled(if: Tool.isUsable("gzip"), "gzip is not installed"))
  func `keeps the number of old files while their compression is slower than rotation`() async {
    await #expect(processExitsWith: .success) {
      let (folder, path) = try RequestLog.emptyFolder()
      // Takes minutes to be compressed.
      let slow = "requests.jsonl.20261121T093000.000000Z"
      try folder.write("", to: slow)
      try #require(truncate(folder(slow), 100 << 30) == 0)
      var output = try FileOutput(
        path, with(.init()) { $0.rotation = LogRotation(maximumSize: 1, keep: 3, compresses: true) },
        LogFaults(of: "under test"))
      try output.write(lines: "1", "2")
      try await Poll.until("the compression") { try Self.rotated(folder).contains("\(slow).gz.part") }
      for index in 3...20 {
        try output.write(lines: "\(index)")
        // What is being compressed is removed by the thread that does it.
        let files = Set(try Self.rotated(folder).map { $0.prefix(slow.utf8.count) })
        #expect(files.count { $0 != slow } <= 4)
      }
      try await Poll.until("the end of the compression") {
        let names = try Self.rotated(folder)
        return names.count == 3 && !names.contains { $0.hasPrefix(slow) || $0.hasSuffix(".part") }
      }
      output.close()
    }
  }

  /// Both are there when a compression is about to end, and after one that was killed then.
  @Test func `counts a file and its copy as one`() async {
    await #expect(processExitsWith: .success) {
      let (folder, path) = try RequestLog.emptyFolder()
      let names = ["0.000000Z", "1.000000Z", "1.000000Z.gz"].map { "requests.jsonl.20261121T09300\($0)" }
      for name in names { try folder.write("old", to: name) }
      var output = try FileOutput(
        path, with(.init()) { $0.rotation = LogRotation(maximumSize: 1, keep: 3) },
        LogFaults(of: "under test"))
      try output.write(lines: "first")
      for kept in [names, Array(names.dropFirst()), []] {
        try output.write(lines: "next")
        #expect(try Self.rotated(folder).filter { $0.contains("20261121") } == kept)
      }
      output.close()
    }
  }

  @Test func `removes what is left of a compression once its file is gone`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    let gone = "requests.jsonl.20261121T093000.000000Z.gz.part"
    let names = [
      gone, "requests.jsonl.20261121T093001.000000Z", "requests.jsonl.20261121T093001.000000Z.gz.part",
      "other.20261121T093000.000000Z.gz.part", "requests.jsonl.gz.part",
    ]
    for name in names { try folder.write("part", to: name) }
    var output = try FileOutput(
      path, with(.init()) { $0.rotation = LogRotation(maximumSize: 1, keep: 2) },
      LogFaults(of: "under test"))
    try output.write(lines: "1", "2")
    let left = try Self.rotated(folder)
    #expect(!left.contains(gone))
    for name in names.dropFirst() { #expect(left.contains(name)) }
    // The file goes, and with it what was to become of it.
    try output.write(lines: "3")
    #expect(try Self.rotated(folder).filter { $0.contains("093001") }.isEmpty)
    output.close()
  }

  /// An old file and a newer one, and the process that would compress the older.
  private func oldFiles(in folder: TemporaryFolder) throws -> (name: String, files: RotatedFiles) {
    let name = "requests.jsonl.20261121T093000.000000Z"
    try folder.write("lines\n", to: name)
    try folder.write("newer\n", to: "requests.jsonl.20261121T093001.000000Z")
    let rotation = LogRotation(maximumSize: 1, keep: 9, compresses: true)
    return (name, RotatedFiles(path: folder("requests.jsonl"), rotation, LogFaults(of: "under test")))
  }

  /// On this thread.
  private func tidy(_ files: RotatedFiles) {
    files.removeExcess()
    _ = files.run(at: .now)
  }

  @Test(.enabled(if: Tool.isUsable("gzip"), "gzip is not installed"))
  func `leaves a file to the process that compresses it, unless that was killed`() async throws {
    let folder = try TemporaryFolder()
    let (name, files) = try oldFiles(in: folder)
    try folder.write("half", to: "\(name).gz.part")
    let other = try System.openForAppending(folder(name))
    #expect(System.lock(other))
    tidy(files)
    #expect(try folder.lines("\(name).gz.part") == ["half"])
    #expect(try Self.rotated(folder).count == 3)
    // The system unlocks what a killed process had locked.
    System.close(other)
    tidy(files)
    let names = try Self.rotated(folder)
    #expect(names.count == 2 && names.contains("\(name).gz"))
    let result = try await Tool("gzip").run(["-dc", folder("\(name).gz")])
    #expect(result.status == 0)
    #expect(result.output == "lines\n")
  }

  @Test(arguments: [0, 9])
  func `leaves a file to the processes that may still write to it`(keep: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    var other = try FileOutput(path, .init(), LogFaults(of: "under test"))
    let name = "requests.jsonl.20261121T093000.000000Z"
    try System.rename(path, to: folder(name))
    try folder.write("newer\n", to: "requests.jsonl.20261121T093001.000000Z")
    let rotation = LogRotation(maximumSize: 1, keep: keep, compresses: true)
    let files = RotatedFiles(path: path, rotation, LogFaults(of: "under test"))
    tidy(files)
    #expect(try Self.rotated(folder).contains(name))
    try other.write(lines: "line")
    tidy(files)
    #expect(try !Self.rotated(folder).contains(name))
    other.close()
  }

  @Test func `counts files with stamps of the future as the oldest: the clock was ahead then`() async throws {
    let (folder, log) = try RequestLog.inFolder { $0.rotation = LogRotation(maximumSize: 1, keep: 5) }
    for number in 1...5 { try folder.write("ahead\n", to: "requests.jsonl.2262010\(number)T000000.000000Z") }
    for number in 0..<3 { log.write("\(number)") }
    #expect(log.shutdown())
    // Two of the new ones are old by now, and so are the three newest of the others.
    let names = try await Poll.until("the newest five") {
      let names = try Self.rotated(folder)
      return names.count == 5 ? names : nil
    }
    #expect(names.count { $0.hasPrefix("requests.jsonl.2262") } == 3)
    #expect(!names.contains { $0.hasPrefix("requests.jsonl.22620102") })
  }

  @Test func `follows no link that stands where it would compress to`() throws {
    let folder = try TemporaryFolder()
    let (name, files) = try oldFiles(in: folder)
    try folder.write("precious", to: "other")
    try FileManager.default.createSymbolicLink(
      atPath: folder("\(name).gz.part"), withDestinationPath: folder("other"))
    tidy(files)
    #expect(try folder.lines("other") == ["precious"])
    #expect(try Self.rotated(folder).contains("\(name).gz"))
  }

  @Test func `is done by one of two logs on one file, and no line is torn or lost`() async throws {
    let folder = try TemporaryFolder()
    var configuration = RequestLog.Configuration()
    configuration.rotation = LogRotation(maximumSize: 20_000, keep: 1_000)
    let logs = try (0..<2).map { _ in
      try RequestLog(to: .file(folder("requests.jsonl")), configuration: configuration)
    }
    await withTaskGroup(of: Void.self) { group in
      for (index, log) in logs.enumerated() {
        group.addTask {
          for number in 0..<2_000 { log.log(.info, "\(index)-\(number)") }
          _ = log.shutdown(within: .seconds(60))
        }
      }
    }
    var messages: Set<String> = []
    for name in try Self.rotated(folder) + ["requests.jsonl"] {
      for line in try folder.lines(name) {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        let isNew = messages.insert(object?["message"] as? String ?? "").inserted
        #expect(isNew)
      }
    }
    #expect(messages.count == 4_000)
  }

  /// Else it would get the end of a line that it does not lack.
  @Test func `the end of a file is not looked for in the one that has taken its path`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("whole\n", to: "requests.jsonl")
    let file = try System.status(ofPath: path)
    #expect(System.lastByte(ofPath: path, file) == UInt8(ascii: "\n"))
    try System.rename(path, to: folder("requests.jsonl.1"))
    try Data("longer than the other\n".utf8).write(to: URL(fileURLWithPath: path))
    #expect(System.lastByte(ofPath: path, file) == nil)
  }
}
