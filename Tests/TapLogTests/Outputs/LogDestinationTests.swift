import TapLog
import TestSupport

@Suite(.needs(.thread)) struct LogDestinationTests {
  /// Starts a log, which has to fail, and gives what it says.
  private func refusal(_ destination: RequestLog.Destination, rotation: LogRotation? = nil) throws -> String {
    let configuration = with(RequestLog.Configuration()) { $0.rotation = rotation }
    let error = #expect(throws: RequestLogError.self) {
      _ = try RequestLog(to: destination, configuration: configuration)
    }
    #expect(error?.code == .cannotOpen)
    let text = try #require(error).description
    #expect(text.utf8.count < 1_000)
    return text
  }

  @Test func `is no Unix socket`() throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.socket")
    close(try LoopbackSocket.bind(path: path))
    let text = try refusal(.file(path))
    #expect(
      text == "cannot open the log file \"\(path)\": it is a socket; "
        + "connect to it and give the log the descriptor, or choose another path")
  }

  @Test func `is no path with a NUL in it, which the system would cut there`() throws {
    let folder = try TemporaryFolder()
    let text = try refusal(.file(folder("requests.jsonl\0.old")))
    #expect(text.contains("requests.jsonl\\0.old\": it has a NUL in it; "))
    #expect(text.hasSuffix("; choose a path without one"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test(arguments: [
    (
      "missing/requests.jsonl",
      "No such file or directory; make the directory first, or choose another path"
    ),
    (".", "Is a directory; name a file in that directory"),
  ])
  func `says why no file can be opened, and what helps`(name: String, reason: String) throws {
    let folder = try TemporaryFolder()
    let text = try refusal(.file(folder(name)))
    #expect(text == "cannot open the log file \"\(folder(name))\": \(reason)")
  }

  @Test func `is no empty path`() throws {
    #expect(try refusal(.file("")) == "cannot open the log file \"\": the path is empty; name a file")
  }

  /// A service starts in "/" unless its unit says otherwise.
  @Test func `says what a relative path is relative to`() throws {
    let folder = FileManager.default.currentDirectoryPath
    #expect(
      try refusal(.file("no folder/log.jsonl")).hasPrefix(
        "cannot open the log file \"no folder/log.jsonl\" in \"\(folder)\": No such file or directory; "))
  }

  @Test func `is no path that is too long, nor one whose rotated files' would be`() throws {
    let folder = try TemporaryFolder()
    for path in [String(repeating: "x", count: 1 << 20), folder(String(repeating: "x", count: 256))] {
      #expect(try refusal(.file(path)).contains("File name too long; choose a shorter path"))
    }
    // A name has 255 bytes, of which a stamp and a dot take 24.
    let path = folder(String(repeating: "x", count: 232))
    let rotation = LogRotation(maximumSize: 1)
    let text = try refusal(.file(path), rotation: rotation)
    #expect(text.hasSuffix(": no room in the name for what rotation adds to it; choose a shorter one"))
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try RequestLog(to: .file(path)).shutdown())
    let shorter = RequestLog.Destination.file(folder(String(repeating: "y", count: 231)))
    let log = try RequestLog(to: shorter, configuration: with(.init()) { $0.rotation = rotation })
    #expect(log.shutdown())
  }

  @Test(.enabled(if: getuid() == 0, "only root makes the file of a device"))
  func `is no disk`() throws {
    let folder = try TemporaryFolder()
    // A loop device that no file is attached to.
    guard mknod(folder("disk"), S_IFBLK | 0o600, dev_t(7 << 8)) == 0 else { return }
    #expect(
      try refusal(.file(folder("disk"))).contains(
        "it is a block device; choose a path where this process can append"))
    #expect(LogFolder.descriptors(of: folder("disk")).isEmpty)
  }

  @Test(.enabled(if: getuid() == 0, "only root makes the file of a device"))
  func `is no device that does not exist, unlike a FIFO whose reader may come`() throws {
    let folder = try TemporaryFolder()
    guard mknod(folder("device"), S_IFCHR | 0o600, dev_t(0xFFF << 8)) == 0 else { return }
    #expect(
      try refusal(.file(folder("device")))
        == "cannot open the log file \"\(folder("device"))\": it is a device that is not there; choose another path"
    )
    #expect(mkfifo(folder("requests.fifo"), 0o600) == 0)
    #expect(try RequestLog(to: .file(folder("requests.fifo"))).shutdown())
  }

  @Test func `is no descriptor that is not open for writing`() throws {
    #expect(
      try refusal(.descriptor(-1))
        == "cannot write the log to descriptor -1: Bad file descriptor; open it for writing, and keep it open"
    )
    let reading = open("/dev/null", O_RDONLY)
    defer { close(reading) }
    #expect(try refusal(.descriptor(reading)).contains("Bad file descriptor; open it for writing"))
  }

  @Test(
    .serialized,
    arguments: [
      (0o604, 0, 0o604), (0, 0, 0o200), (-1, 0, 0o777), (.max, 0, 0o777), (0o4640, 0, 0o640),
      (0o640, 0o777, 0o200),
    ])
  func `is made with the permissions that are given, as far as they can be`(
    given: Int, mask: Int, expected: Int
  ) async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    try ExitValues.give("LogDestinationTests", path, given, mask)
    await #expect(processExitsWith: .exitCode(7)) {
      let (path, given, mask) = try ExitValues.take("LogDestinationTests", String.self, Int.self, Int.self)
      umask(mode_t(mask))
      let configuration = with(RequestLog.Configuration()) { $0.filePermissions = given }
      exit(try RequestLog(to: .file(path), configuration: configuration).shutdown() ? 7 : 1)
    }
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(Int(status.st_mode) & 0o7777 == expected)
  }
}
