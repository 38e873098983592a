import TestSupport

@testable import TapCore

struct SystemTests {
  @Test func `a line on standard error is one line, cut to what a pipe takes as one piece`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      StandardError.write(line: String(repeating: "x", count: 10_000))
      StandardError.write(line: "a\nb\r\nc")
    }
    let lines = try #require(result).standardErrorContent.split(separator: UInt8(ascii: "\n"))
    // With its end 4,096 bytes (POSIX, `PIPE_BUF` on Linux).
    #expect(lines.map(\.count).max() == 4_095)
    #expect(lines.contains { String(decoding: $0, as: UTF8.self) == "a b c" })
  }

  @Test(.needs(.program))
  func `a line that has no reader leaves the signals of its thread as they are`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      dup2(pipe.fileHandleForWriting.fileDescriptor, 2)
      var (signals, mask, pending) = (sigset_t(), sigset_t(), sigset_t())
      StandardError.write(line: "lost")
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      if sigismember(&mask, SIGPIPE) != 0 { exit(1) }
      // One that the app has blocked, and that waits for it.
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      raise(SIGPIPE)
      StandardError.write(line: "lost")
      sigpending(&pending)
      exit(sigismember(&pending, SIGPIPE) == 1 ? 7 : 2)
    }
  }

  @Test(
    arguments: [
      (.again, "Resource temporarily unavailable"), (.badDescriptor, "Bad file descriptor"),
      (.noReader, "No such device or address"), (.missing, "No such file or directory"),
      (.denied, "Permission denied"), (.isDirectory, "Is a directory"),
      (.readOnly, "Read-only file system"), (.noSpace, "No space left on device"),
      (.brokenPipe, "Broken pipe"), (.invalid, "Invalid argument"),
      (.tooManyFiles, "Too many open files"), (.nameTooLong, "File name too long"),
      (System.Failure(code: 99_999), "error 99999"),
    ] as [(System.Failure, String)])
  func `a failure says what the system says of it`(failure: System.Failure, text: String) {
    #expect(failure.text == text)
  }

  @Test func `a file is read whole up to the limit, and refused beyond it`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    #expect(try System.contents(ofPath: path, limit: 5) == Array("12345".utf8))
    #expect(throws: System.Failure(code: EFBIG)) { try System.contents(ofPath: path, limit: 4) }
    let long = try folder.write(String(repeating: "x", count: 40_000), to: "long")
    #expect(try System.contents(ofPath: long, limit: 40_000).count == 40_000)
  }

  #if os(Linux)
    @Test func `a file that has been read is closed`() throws {
      let folder = try TemporaryFolder()
      let path = try folder.write("12345", to: "file")
      for limit in [5, 4] { _ = try? System.contents(ofPath: path, limit: limit) }
      let file = try System.status(ofPath: path)
      #expect(System.lastByte(ofPath: path, file) == UInt8(ascii: "5"))
      let links = try System.names(inFolder: "/proc/self/fd").map { "/proc/self/fd/\($0)" }
      #expect(!links.contains { System.destination(ofLinkAtPath: $0) == path })
    }

    @Test func `the time of the last write is set, to the nanosecond`() throws {
      let folder = try TemporaryFolder()
      let path = try folder.write("12345", to: "file")
      let descriptor = try System.openForAppending(path)
      defer { System.close(descriptor) }
      let time: Int64 = 1_700_000_000_123_456_789
      System.setModified(time, of: descriptor)
      #expect(try System.status(ofDescriptor: descriptor).modified == time)
    }
  #endif

  @Test func `a file that is open goes to no child, and blocks no thread`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    let descriptors = [
      try System.openForReading(path), try System.openForAppending(path),
    ]
    for descriptor in descriptors {
      #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
      #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == O_NONBLOCK)
      System.close(descriptor)
    }
  }

  @Test func `a link is followed however long its path is`() throws {
    let folder = try TemporaryFolder()
    let target = String(repeating: "/x", count: 400)
    try #require(symlink(target, folder("link")) == 0)
    #expect(System.destination(ofLinkAtPath: folder("link")) == target)
    #expect(System.destination(ofLinkAtPath: folder("missing")) == nil)
  }
}
