import TestSupport

@testable import TapCore

struct SystemTests {
  @Test(.needs(.program)) func `a line on standard error is one line, cut to what a pipe takes as one piece`()
    async throws
  {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      for letter in ["x", "\u{E9}"] { StandardError.write(line: String(repeating: letter, count: 10_000)) }
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

  @Test func `of many messages a minute some are said, and one tells how many were not`() {
    var limit = MinuteLimit(10)
    func admitted(_ count: Int, after seconds: Int64) -> [Int?] {
      let now = Instant(nanoseconds: 7_000_000_000 + seconds * 1_000_000_000)
      return (0..<count).map { _ in limit.admit(at: now) }
    }
    let ofMinute = [Int?](repeating: 0, count: 10) + [Int?](repeating: nil, count: 20)
    #expect(admitted(30, after: 0) == ofMinute)
    #expect([59, 60].flatMap { admitted(1, after: $0) } == [nil, 21])
    // What one has told is not told again.
    #expect(admitted(30, after: 3_600) == ofMinute)
  }

  @Test func `a failure says what the system says of it`() {
    let texts = [System.Failure.again, System.Failure(code: 99_999)].map(\.description)
    #expect(texts == ["Resource temporarily unavailable", "error 99999"])
  }

  @Test func `a file is read whole up to the limit, and refused beyond it`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    #expect(try System.contents(ofPath: path, limit: 5) == Array("12345".utf8))
    #expect(throws: System.Failure(code: EFBIG)) { try System.contents(ofPath: path, limit: 4) }
    let long = try folder.write(String(repeating: "x", count: 40_000), to: "long")
    #expect(try System.contents(ofPath: long, limit: 40_000).count == 40_000)
    // A file of the kernel's up to a mebibyte.
    let most = String(repeating: "x", count: 1 << 20)
    try folder.write(most, to: "most")
    try folder.write(most + "x", to: "more")
    let lengths = ["most", "more", "none"].map { ProcessMetrics.read(folder($0))?.utf8.count }
    #expect(lengths == [1 << 20, nil, nil])
  }

  #if os(Linux)
    @Test func `a file that has been read is closed`() throws {
      let folder = try TemporaryFolder()
      let path = try folder.write("12345", to: "file")
      for limit in [5, 4] { _ = try? System.contents(ofPath: path, limit: limit) }
      let file = try System.status(ofPath: path)
      #expect(System.lastByte(ofPath: path, file) == UInt8(ascii: "5"))
      #expect(try System.names(inFolder: folder.path) == ["file"])
      #expect(try OpenDescriptors.on { [path, folder.path].contains($0) } == [])
      #expect(throws: System.Failure.missing) { try System.names(inFolder: folder("none")) }
    }

    /// The roots of such file systems often have the same number.
    @Test(arguments: ["/sys", "/dev", "/dev/pts", "/dev/shm"])
    func `files on two file systems are not one, whatever their numbers`(path: String) throws {
      let root = try System.status(ofPath: "/proc")
      guard let other = try? System.status(ofPath: path) else { return }
      #expect(!root.isSameFile(as: other) && !root.isOnSameFileSystem(as: other))
    }

    @Test(.needs(.program))
    func `a relative path is one of the working directory, however long, if there is one`() async {
      await #expect(processExitsWith: .success) {
        let folder = try TemporaryFolder()
        let deep = folder(String(repeating: "deep/", count: 100) + "end")
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        try #require(chdir(deep) == 0)
        #expect(System.absolute("x") == deep + "/x")
        #expect(System.absolute("/x") == "/x")
        try #require(rmdir(deep) == 0)
        #expect(System.absolute("x") == "x")
        try #require(chdir("/") == 0)
        #expect(System.absolute("x") == "/x")
      }
    }

    @Test(.needs(.program))
    func `no descriptor keeps the number of a standard stream that is closed`() async {
      await #expect(processExitsWith: .success) {
        for closed in [[0, 1], [1, 2], [2]] as [[Int32]] {
          for stream in closed { close(stream) }
          let opened = open("/dev/null", O_RDWR)
          let moved = try System.aboveStandard(opened)
          #expect(opened == closed[0] && moved > 2)
          #expect(fcntl(moved, F_GETFD) & FD_CLOEXEC == FD_CLOEXEC)
          // Its number is free again.
          for stream in closed { #expect(open("/dev/null", O_RDWR) == stream) }
        }
      }
    }
  #endif

  @Test func `a file's status tells its kind, its size and who may use it`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    try #require(chmod(path, 0o647) == 0)
    try #require(mkfifo(folder("pipe"), 0o600) == 0)
    close(try LoopbackSocket.bind(path: folder("socket")))
    try #require(symlink("file", folder("link")) == 0)
    let paths = [path, folder("pipe"), folder("socket"), folder.path, "/dev/null", folder("link")]
    let statuses = try paths.map { try System.status(ofPath: $0) }
    #expect(statuses.map(\.kind) == [.regular, .pipe, .other, .other, .other, .regular])
    #expect(statuses[0].size == 5 && statuses[0].permissions == 0o647)
    let link = try System.status(ofLinkAtPath: folder("link"))
    #expect(link.kind == .other && !link.isSameFile(as: statuses[0]))
    #expect(statuses[5].isSameFile(as: statuses[0]) && !statuses[1].isSameFile(as: statuses[0]))
    #expect(statuses[1].isOnSameFileSystem(as: statuses[0]))
  }

  @Test func `a file is made only where nothing is, not even a link that leads nowhere`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    try #require(symlink("missing", folder("link")) == 0)
    for taken in [path, folder("link")] {
      #expect(throws: System.Failure.exists) { try System.create(taken, permissions: 0o600) }
    }
    #expect(try Set(System.names(inFolder: folder.path)) == ["file", "link"])
  }

  @Test func `a call that signals interrupt is made again`() throws {
    var left = 5
    let result = try System.uninterrupted {
      if left == 0 { return 7 }
      left -= 1
      errno = EINTR
      return -1
    }
    #expect(result == 7 && left == 0)
  }

  @Test func `a file that is open goes to no child, and blocks no thread`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("12345", to: "file")
    let descriptors = [
      try System.openForReading(path), try System.openForAppending(path),
    ]
    #expect(fcntl(descriptors[1], F_GETFL) & (O_APPEND | O_ACCMODE) == O_APPEND | O_WRONLY)
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
