import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct RotatedFilesTests {
  /// 2026-11-21T09:30:00.123456Z
  private let time = Timestamp(nanosecondsSinceEpoch: 1_795_253_400_123_456_789)

  private func files(in folder: TemporaryFolder, keep: Int = 9, compresses: Bool = false) -> RotatedFiles {
    let rotation = LogRotation(maximumSize: 1, keep: keep, compresses: compresses)
    return RotatedFiles(path: folder("requests.jsonl"), rotation, LogFaults(of: "under test"))
  }

  private func names(in folder: TemporaryFolder) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
  }

  @Test func `have the time in their names, or the next microsecond that no other has`() throws {
    let folder = try TemporaryFolder()
    let prefix = "requests.jsonl.20261121T093000.12345"
    let taken = [prefix + "6Z", prefix + "7Z.gz"]
    for name in taken { try folder.write("old", to: name) }
    let file = try OpenFile.open(folder("requests.jsonl"), permissions: 0o600)
    defer { file.close() }
    let isMoved = try files(in: folder).move(file, at: time)
    #expect(isMoved)
    #expect(try names(in: folder) == taken + [prefix + "8Z"])
  }

  @Test func `are left to the process that is about to move one`() throws {
    let folder = try TemporaryFolder()
    let file = try OpenFile.open(folder("requests.jsonl"), permissions: 0o600)
    let other = try System.openForReading(folder.path)
    defer { for descriptor in [file.descriptor, other] { System.close(descriptor) } }
    try #require(System.lock(other))
    let isMoved = try files(in: folder).move(file, at: time)
    #expect(!isMoved)
    #expect(try names(in: folder) == ["requests.jsonl"])
  }

  @Test func `do not have the next file among them, which another process has put in place`() throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let file = try OpenFile.open(path, permissions: 0o600)
    defer { file.close() }
    try System.rename(path, to: folder("moved"))
    try folder.write("of another\n", to: "requests.jsonl")
    let isMoved = try files(in: folder).move(file, at: time)
    #expect(!isMoved)
    #expect(try names(in: folder) == ["moved", "requests.jsonl"])
  }

  @Test func `have the one that was moved last as the newest, though the clock was set back since`() throws {
    let folder = try TemporaryFolder()
    let old = "requests.jsonl.20200101T000000.000000Z"
    try folder.write("old\n", to: old)
    let file = try OpenFile.open(folder("requests.jsonl"), permissions: 0o600)
    let files = files(in: folder, keep: 1)
    // In the year 2255.
    let isMoved = try files.move(file, at: Timestamp(nanosecondsSinceEpoch: 9_000_000_000_000_000_000))
    file.close()
    files.removeExcess()
    let names = try names(in: folder)
    #expect(isMoved && names.count == 1 && names != [old])
  }

  @Test func `are begun by the time of the last line, not by that of the start`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    try folder.write("", to: "requests.jsonl")
    var times = [timeval(tv_sec: 1_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000, tv_usec: 0)]
    try #require(utimes(path, &times) == 0)
    // Ten years, whose end is not near.
    var output = try FileOutput(
      path, with(.init()) { $0.rotation = LogRotation(interval: .seconds(315_360_000)) },
      LogFaults(of: "under test"))
    try output.write(lines: "1", "2", "3")
    output.close()
    #expect(try folder.lines("requests.jsonl") == ["1", "2", "3"])
    #expect(try names(in: folder) == ["requests.jsonl"])
  }

  @Test func `are followed by one that its owner may write to, though they are read-only`() throws {
    let (folder, path) = try RequestLog.emptyFolder()
    let configuration = with(RequestLog.Configuration()) { $0.rotation = LogRotation(maximumSize: 1) }
    var output = try FileOutput(path, configuration, LogFaults(of: "under test"))
    try output.write(lines: "1")
    try #require(chmod(path, 0o440) == 0)
    try output.write(lines: "2")
    output.close()
    let modes = try names(in: folder).map { folder.mode(of: $0) }
    #expect(modes == [0o640, 0o440])
  }

  @Test func `have no link among them`() throws {
    let folder = try TemporaryFolder()
    let link = "requests.jsonl.20261121T093000.000000Z"
    try folder.write("precious\n", to: "other")
    try FileManager.default.createSymbolicLink(atPath: folder(link), withDestinationPath: folder("other"))
    files(in: folder, keep: 0).removeExcess()
    #expect(try names(in: folder) == ["other", link])
  }

  @Test(.enabled(if: Tool.isUsable("gzip"), "gzip is not installed"))
  func `are closed when they are compressed`() throws {
    let folder = try TemporaryFolder()
    let name = "requests.jsonl.20261121T093000.000000Z"
    for old in [name, "requests.jsonl.20261121T093001.000000Z"] { try folder.write("lines\n", to: old) }
    let files = files(in: folder, compresses: true)
    files.removeExcess()
    _ = files.run(at: .now)
    #expect(try names(in: folder).first == "\(name).gz")
    for path in ["\(name).gz", "\(name) (deleted)"] { #expect(OpenDescriptors.of(folder(path)).isEmpty) }
  }

  /// A process that compresses or removes a file wants it for itself.
  @Test func `are locked while one of those that write to them has them open`() throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let writers = try (0..<2).map { _ in try OpenFile.open(path, permissions: 0o600) }
    let other = try System.openForReading(path)
    defer { System.close(other) }
    writers[0].close()
    #expect(!System.lock(other))
    writers[1].close()
  }
}
