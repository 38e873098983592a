import TestSupport

@testable import TapCore

/// The file of a black box, against all that may be at its path, and all that others may do to it.
@Suite struct BlackBoxFileTests {
  private let folder: TemporaryFolder
  private var path: String { folder("requests") }

  init() throws { folder = try TemporaryFolder(isInMemory: true) }

  private static func open(_ path: String) -> BlackBoxError? {
    do { _ = try BlackBoxFile(path: path) } catch { return error }
    return nil
  }

  private func box(
    _ file: BlackBoxFile? = nil, report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> BlackBox {
    try BlackBox(
      file ?? BlackBoxFile(path: path), serviceName: "shop", writeURL: { url, _, _ in 0 }, report: report)
  }

  private static func keep(_ count: Int, in box: BlackBox) -> [BlackBox.Slot] {
    (0..<count).map { box.keep(RequestDescription(client: "\($0)", method: "GET"), isStarted: true) }
  }

  /// The clients of the requests that the file has, oldest first.
  private func clients() throws -> [String]? {
    try BlackBoxFile.read(path: path).content?.requests.map(\.request.client)
  }

  @Test func `what cannot be used is refused, with a word for each, and left as it is`() throws {
    let size = BlackBoxHeader.fileSize
    var header = BlackBoxHeader.page(processID: 1, serviceName: "")
    func file(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) throws -> String {
      try Data(bytes).write(to: URL(fileURLWithPath: folder(name)))
      chmod(folder(name), mode)
      return folder(name)
    }
    func made(_ name: String, _ make: (String) -> Int32) -> String {
      _ = make(folder(name))
      return folder(name)
    }
    _ = try file("linked", [])
    let whole = header + [UInt8](repeating: 0, count: size - header.count)
    header[8] = 2
    let rows: [(String, BlackBoxError)] = [
      (try file("short", Array("text".utf8)), .isShort), (try file("cut", Array(whole.dropLast())), .isShort),
      (try file("long", whole + [0]), .isOther),
      (try file("text", Array(repeating: 65, count: size)), .isOther),
      (try file("later", header + whole.dropFirst(header.count)), .isOfOtherVersion),
      (try file("writable", whole, mode: 0o660), .isShared),
      (made("name") { link(folder("linked"), $0) }, .isShared),
      (made("link") { symlink(folder("whole"), $0) }, .isNoFile),
      (made("folder") { mkdir($0, 0o700) }, .isNoFile), (made("pipe") { mkfifo($0, 0o600) }, .isNoFile),
      (folder("no/such/folder"), .cannotOpen(.missing)), ("/proc/self/no", .cannotOpen(.missing)),
      (
        getuid() == 0 ? made("other") { chown((try? file("other", whole)) ?? $0, 1, 1) } : "/etc/passwd",
        .isOfAnotherUser
      ),
      ("/var/tmp/\(UUID().uuidString)", .isOnDisk),
    ]
    let names = try folder.names
    #expect(rows.map { Self.open($0.0) } == rows.map(\.1))
    #expect(try folder.names == names)
    #expect(!FileManager.default.fileExists(atPath: rows.last?.0 ?? ""))
    #expect(Self.open(try file("whole", whole)) == nil)
    for row in rows { #expect(!row.1.description.isEmpty) }
  }

  @Test func `a process that has it keeps it, and another finds what was active once it is gone`() throws {
    var first: BlackBox? = try box()
    _ = Self.keep(3, in: first!)
    #expect(Self.open(path) == .isInUse(processID: getpid()))
    #expect(try clients() == ["0", "1", "2"])
    #expect(try BlackBoxFile.read(path: path).isInUse)
    // Not even its owner may write to it.
    #expect(folder.mode(of: "requests") == 0o400)
    // As a kill leaves it.
    let left = try Data(contentsOf: URL(fileURLWithPath: path))
    first = nil
    #expect(try BlackBoxFile.read(path: path).content?.isClosed == true)
    chmod(path, 0o600)
    try left.write(to: URL(fileURLWithPath: path))
    for told in [0, 2] {
      let next = try BlackBoxFile(path: path)
      let content = try #require(next.content)
      #expect(!content.isClosed && content.serviceName == "shop" && content.processID == getpid())
      #expect(content.untold.map(\.request.client) == ["0", "1", "2"].suffix(3 - told))
      next.noteTold(2)
    }
    // Taken over, it has nothing of them.
    let second = try box()
    #expect(try clients() == [])
    #expect(second.previous?.requestCount == 3)
    second.close()
    #expect(try box().previous == nil)
  }

  @Test func `of more requests than slots the oldest stay, and the others are counted while they are active`()
    throws
  {
    let box = try box()
    var slots = Self.keep(BlackBoxHeader.slotCount + 3, in: box)
    func counts() throws -> [Int] {
      let content = try #require(try BlackBoxFile.read(path: path).content)
      return [content.requests.count, content.missingCount, box.missedCount]
    }
    #expect(try counts() == [4_096, 3, 3])
    #expect(try clients()?.first == "0")
    #expect(try clients()?.last == "4095")
    box.free(&slots[4_098], at: .now)
    box.free(&slots[0], at: .now)
    _ = Self.keep(1, in: box)
    #expect(try counts() == [4_096, 2, 3])
    for index in slots.indices { box.free(&slots[index], at: .now) }
    #expect(try counts() == [1, 0, 3])
  }

  @Test func `a file that is cut, emptied, removed or replaced is told once, and nothing ends`() throws {
    let acts: [(String) -> Void] = [
      { truncate($0, 0) }, { truncate($0, 100) },
      {
        truncate($0, 0)
        truncate($0, off_t(BlackBoxHeader.fileSize))
      }, { unlink($0) },
      {
        unlink($0)
        _ = FileManager.default.createFile(atPath: $0, contents: nil)
      },
    ]
    let told = Mutex<[[String]]>([])
    for (index, act) in acts.enumerated() {
      unlink(path)
      let file = try BlackBoxFile(path: path)
      told.withLock { $0.append([]) }
      // Its own thread looks too.
      let box = try box(file) { fault in
        told.withLock { $0[index].append(String(fault.dropFirst("the black box \(file.path) ".count))) }
      }
      var slots = Self.keep(1, in: box)
      chmod(path, 0o600)
      act(path)
      for _ in 0..<2 {
        if let fault = file.look(at: .now).fault { told.withLock { $0[index].append(fault) } }
      }
      // Nothing is behind the end any more.
      slots += Self.keep(10, in: box)
      for slot in slots.indices { box.free(&slots[slot], at: .now) }
      box.close()
    }
    let cut = "was cut by another process, and is used no more"
    let gone =
      "was removed or replaced: what is active is found in no file until the next start of the app"
    #expect(told.withLock { $0 } == [[cut], [cut], [cut], [gone], [gone]])
  }

  /// What the first one's memory was noted with is the second one's by then.
  @Test func `a file that is given up twice leaves another one's memory alone`() throws {
    let files = try ["first", "second"].map { try BlackBoxFile(path: folder($0)) }
    let first = try box(files[0])
    truncate(files[0].path, 0)
    _ = files[0].look(at: .now)
    let second = try box(files[1])
    first.close()
    truncate(files[1].path, 0)
    // Or its own thread does.
    _ = files[1].look(at: .now)
    // Ends the process if the memory is the file's.
    _ = Self.keep(10, in: second)
    #expect(try BlackBoxFile.read(path: files[1].path).content == nil)
  }

  @Test func `a sign of life is as late as the last begin, end or look`() throws {
    let file = try BlackBoxFile(path: path)
    let slot = BlackBoxSlot(at: try file.takeOver(serviceName: "").memory + BlackBoxHeader.size)
    // Of the wall clock, which is so far ahead of the other.
    let later = Instant.now.nanoseconds + 1_000_000_000_000
    func sign() throws -> Int64 {
      try #require(try BlackBoxFile.read(path: path).content).lastSign.nanosecondsSinceEpoch - later
    }
    _ = file.look(at: Instant(nanoseconds: later), time: Timestamp(nanosecondsSinceEpoch: later + 1_000))
    #expect(try sign() == 1_000)
    slot.write(
      RequestDescription(client: "c", method: "GET"), .active, isToldByApp: false,
      at: Instant(nanoseconds: later + 5), .now, nil)
    #expect(try sign() == 1_005)
    #expect(try BlackBoxFile.read(path: path).content?.requests.map(\.duration) == [.zero])
    slot.free(at: Instant(nanoseconds: later + 7))
    #expect(try sign() == 1_007)
  }

  @Test(.needs(.program))
  func `without room for all of it there is none, and no signal ends the process`() async throws {
    try ExitValues.give("BlackBoxFileTests.full", path)
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("BlackBoxFileTests.full", String.self)
      var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
      setrlimit(__rlimit_resource_t(1), &limit)  // RLIMIT_FSIZE
      let file = try BlackBoxFile(path: path)
      do {
        _ = try BlackBox(file, serviceName: "", writeURL: nil, report: { _ in })
      } catch BlackBoxError.isFull { exit(7) }
      exit(1)
    }
  }

  @Test(.needs(.program))
  func `a forked child writes elsewhere, and keeps the file from nobody`() async throws {
    try ExitValues.give("BlackBoxFileTests", path)
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("BlackBoxFileTests", String.self)
      let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
      var box: BlackBox? = try BlackBox(
        BlackBoxFile(path: path), serviceName: "", writeURL: nil, report: { _ in })
      _ = box?.keep(RequestDescription(client: "parent", method: "GET"), isStarted: true)
      var pipe: [Int32] = [0, 0]
      guard Glibc.pipe(&pipe) == 0 else { exit(1) }
      let child = fork()
      if child == 0 {
        _ = box?.keep(RequestDescription(client: "child", method: "GET"), isStarted: true)
        // Until the parent ends it.
        write(pipe[1], "x", 1)
        pause()
      }
      var byte: UInt8 = 0
      guard read(pipe[0], &byte, 1) == 1 else { exit(1) }
      let clients = try BlackBoxFile.read(path: path).content?.requests.map(\.request.client)
      box = nil
      // The child lives.
      let isFree = (try? BlackBoxFile(path: path)) != nil
      kill(child, SIGKILL)
      exit(isFree && clients == ["parent"] ? 7 : 2)
    }
  }
}
