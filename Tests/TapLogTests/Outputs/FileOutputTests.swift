import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct FileOutputTests {
  @Test func `appends to what is there, behind the line that a killed process left unfinished`() throws {
    for (before, lines) in [("", []), ("whole\n", ["whole"]), ("whole\ntorn", ["whole", "torn"])] {
      let log = try LogFolder { try $0.write(before, to: "requests.jsonl") }
      try log.write("new")
      #expect(try log.files() == [lines + ["new"]])
    }
  }

  /// Else it would get the end of a line that it does not lack.
  @Test func `looks for the end of a file not in the one that has taken its path`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("whole\n", to: "requests.jsonl")
    let file = try System.status(ofPath: path)
    #expect(System.lastByte(ofPath: path, file) == UInt8(ascii: "\n"))
    try folder.move("requests.jsonl", to: "requests.jsonl.1")
    try folder.write("longer than the other\n", to: "requests.jsonl")
    #expect(System.lastByte(ofPath: path, file) == nil)
  }

  @Test func `follows the path when the file is moved away, and leaves its successor its permissions`() throws
  {
    let log = try LogFolder { try $0.write("old\n", to: "requests.jsonl") }
    try #require(chmod(log.path, 0o646) == 0)
    try log.folder.move("requests.jsonl", to: "requests.jsonl.1")
    // As logrotate's `create`, which chooses them.
    try log.folder.write("of another\n", to: "requests.jsonl")
    try #require(chmod(log.path, 0o600) == 0)
    try log.write("new")
    #expect(try log.files() == [["old"], ["of another", "new"]])
    #expect(log.folder.mode(of: "requests.jsonl") == 0o600)
  }

  @Test func `leaves it to logrotate to put a file in the place of each that it moves away`() throws {
    let log = try LogFolder()
    for number in 1...2 {
      try log.folder.move("requests.jsonl", to: "requests.jsonl.\(number)")
      var batch = LineBuffer("line\n")
      #expect(log.output.write(&batch).state == .busy(.milliseconds(1)))
      #expect(!FileManager.default.fileExists(atPath: log.path))
      // The log makes the second one itself, at the end of its wait.
      if number == 1 { try log.folder.write("", to: "requests.jsonl") }
      #expect(try log.attempt(&batch) == LogOutputResult(written: [.info: 1], bytes: 5))
    }
    #expect(try log.files() == [[], ["line"], ["line"]])
  }

  @Test func `goes on at the new end of a file that was truncated, without a hole`() throws {
    let log = try LogFolder()
    try log.write("old")
    try #require(truncate(log.path, 0) == 0)
    try log.write("new")
    #expect(try log.files() == [["new"]])
  }

  @Test func `keeps lines while the folder is away, and writes them when it is back`() throws {
    let log = try LogFolder("logs/requests.jsonl") { try $0.makeFolder("logs") }
    try log.folder.move("logs", to: "away")
    var batch = LineBuffer("line\n")
    let reason = "No such file or directory; make its directory if that is missing, or choose another path"
    #expect(try log.attempt(&batch) == .failed(reason))
    try log.folder.makeFolder("logs")
    #expect(try log.attempt(&batch) == LogOutputResult(written: [.info: 1], bytes: 5))
    #expect(try log.folder.lines("logs/requests.jsonl") == ["line"])
  }

  @Test func `does not write into another file that has got the descriptor of its own`() throws {
    let log = try LogFolder()
    for path in [log.folder("other"), "/dev/null"] {
      let descriptor = try #require(OpenDescriptors.on(log.path).first)
      let other = open(path, O_WRONLY | O_CREAT, 0o600)
      try #require(dup2(other, descriptor) == descriptor)
      try log.write("line")
      // The log has not closed what is not its own.
      #expect(fcntl(descriptor, F_GETFD) >= 0)
      for number in [descriptor, other] { close(number) }
    }
    #expect(try log.files() == [["line", "line"], []])
  }

  @Test func `gives up the rest of a line whose start is not at the end of the file`() throws {
    let log = try LogFolder()
    var batch = LineBuffer("torn\n", "next\n")
    _ = batch.take(2)  // As after a short write that went unnoticed.
    try log.folder.write("other\n", to: "requests.jsonl")
    #expect(log.output.write(&batch) == LogOutputResult(written: [.info: 1], bytes: 5, dropped: 1))
    try #require(truncate(log.path, 0) == 0)
    batch = LineBuffer("torn\n")
    _ = batch.take(2)
    #expect(log.output.write(&batch) == LogOutputResult(dropped: 1))
    #expect(batch.isEmpty)
  }

  @Test func `goes on with a torn line, and rotates behind it`() throws {
    let log = try LogFolder(rotation: LogRotation(maximumSize: 8))
    var batch = LineBuffer("torn\n", "second\n", "third\n")
    _ = batch.take(2)
    while !batch.isEmpty { #expect(log.output.write(&batch).state == .ready) }
    #expect(try log.files() == [["rn"], ["second"], ["third"]])
  }
}
