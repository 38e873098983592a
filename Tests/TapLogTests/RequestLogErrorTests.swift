import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct RequestLogErrorTests {
  /// Other causes have the tests of what refuses them.
  @Test func `has the remedy of a lack of permission`() {
    let remedy = "let this process's user write to the file and search its directory, or choose another path"
    #expect(RequestLogError.advice(on: .denied) == "Permission denied; \(remedy)")
  }

  @Test func `names a path on one line, and no more than its beginning`() {
    let text = String(repeating: "x", count: 200)
    let quoted = [text, text + "y", "a\n\"b\""].map { RequestLogError.quoted($0) }
    #expect(quoted == ["\"\(text)\"", "\"\(text)…\"", #""a\n\"b\"""#])
  }

  @Test func `names the places of a log`() {
    let destination: RequestLog.Destination = [
      .file("a.jsonl"), .standardError, .memory, .custom(CollectingSink()), .standardOutput,
    ]
    let texts = ["\"a.jsonl\"", "(descriptor 2)", "(memory)", "(custom)", "(descriptor 1)"]
    #expect(destination.places.map(\.text) == texts)
    #expect(!RequestLog.Destination.descriptor(3).usesStandardStreams)
    #expect(destination.isFile && !RequestLog.Destination([.standardOutput, .memory]).isFile)
  }

  /// Starts a log, which has to fail, and gives what it says.
  private func refusal(_ destination: RequestLog.Destination) throws -> String {
    let error = #expect(throws: RequestLogError.self) { _ = try RequestLog(to: destination) }
    #expect(error?.code == .cannotOpen)
    let text = try #require(error).description
    #expect(text.utf8.count < 1_000)
    return text
  }

  @Test func `refuses what is no file: a socket, a folder, a path with a NUL, none at all`() throws {
    let folder = try TemporaryFolder()
    close(try LoopbackSocket.bind(path: folder("requests.socket")))
    let prefix = "cannot open the log file \"\(folder.path)/"
    let texts = try ["requests.socket", "missing/log", ".", "log\0.old"].map { name in
      try refusal(.file(folder(name))).replacing(prefix, with: "")
    }
    let expected = [
      "requests.socket\": it is a socket, or a device that is not there; choose another path",
      "missing/log\": No such file or directory; make its directory if that is missing, or choose another path",
      ".\": Is a directory; choose a path where this process can append to a file",
      #"log\0.old": it has a NUL in it; choose a path without one"#,
    ]
    #expect(texts == expected)
    #expect(try folder.names == ["requests.socket"])
    #expect(try refusal(.file("")) == "cannot open the log file \"\": the path is empty; name a file")
  }

  /// A service starts in "/" unless its unit says otherwise.
  @Test func `says what a relative path is relative to`() throws {
    let folder = FileManager.default.currentDirectoryPath
    let text = "cannot open the log file \"no folder/log\" in \"\(folder)\": No such file or directory; "
    #expect(try refusal(.file("no folder/log")).hasPrefix(text))
  }

  @Test func `refuses a path that is too long`() throws {
    let folder = try TemporaryFolder()
    for path in [String(repeating: "x", count: 1 << 20), folder(String(repeating: "x", count: 256))] {
      #expect(try refusal(.file(path)).contains("File name too long; choose a path"))
    }
  }

  /// Of a loop device that no file is attached to, and of a character device that does not exist.
  private static func makeDevices(in folder: TemporaryFolder) -> Bool {
    mknod(folder("disk"), S_IFBLK | 0o600, dev_t(7 << 8)) == 0
      && mknod(folder("device"), S_IFCHR | 0o600, dev_t(0xFFF << 8)) == 0
  }

  private static let makesDevices = (try? TemporaryFolder()).map(makeDevices) == true

  @Test(.enabled(if: makesDevices, "this process may not make the file of a device"))
  func `refuses a disk and a device that does not exist, unlike a FIFO whose reader may come`() throws {
    let folder = try TemporaryFolder()
    try #require(Self.makeDevices(in: folder) && mkfifo(folder("fifo"), 0o600) == 0)
    let disk = try refusal(.file(folder("disk")))
    #expect(disk.contains("it is a block device; choose a path where this process can append"))
    #expect(try OpenDescriptors.on(folder("disk")).isEmpty)
    let device = "\"\(folder("device"))\": it is a socket, or a device that is not there; choose another path"
    #expect(try refusal(.file(folder("device"))) == "cannot open the log file \(device)")
    #expect(try RequestLog(to: .file(folder("fifo"))).shutdown())
  }

  @Test func `refuses a descriptor that is not open for writing`() throws {
    let reading = open("/dev/null", O_RDONLY)
    defer { close(reading) }
    let why = "Bad file descriptor; open it for writing, and keep it open"
    let descriptors = [-1, reading]
    let texts = try descriptors.map { try refusal(.descriptor($0)) }
    #expect(texts == descriptors.map { "cannot write the log to descriptor \($0): \(why)" })
  }

  @Test func `a file is for its owner and group, less the umask, and its owner may write it`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let rows: [(mask: mode_t, expected: mode_t)] = [(0, 0o640), (0o077, 0o600), (0o777, 0o200)]
      let modes = try rows.map { row in
        folder.remove("log")
        umask(row.mask)
        #expect(try RequestLog(to: .file(folder("log"))).shutdown())
        var status = stat()
        try #require(stat(folder("log"), &status) == 0)
        return status.st_mode & 0o7777
      }
      #expect(modes == rows.map(\.expected))
    }
  }
}
