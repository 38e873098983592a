import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct RotatedFilesTests {
  @Test func `have the time in their names, or the next microsecond that no other has`() throws {
    let folder = try TemporaryFolder()
    let prefix = "requests.jsonl.20261121T093000.12345"
    let taken = [prefix + "6Z", prefix + "7Z"]
    for name in taken + ["requests.jsonl"] { try folder.write("x", to: name) }
    let files = try #require(RotatedFiles(ofLogAt: folder("requests.jsonl")))
    let time = Timestamp(nanosecondsSinceEpoch: 1_795_253_400_123_456_789)
    #expect(try files.moveLog(at: time) == "20261121T093000.123458Z")
    let names = try folder.names
    #expect(names == taken + [prefix + "8Z"])
  }

  @Test func `are as large as they may be, and no line is lost or torn`() throws {
    let log = try LogFolder(rotation: LogRotation(maximumSize: 6))
    var batch = LineBuffer("a\n", "b\n", "c\n", "d\n", "e\n", "a long one\n")
    while !batch.isEmpty { _ = try log.attempt(&batch) }
    #expect(try log.files() == [["a", "b", "c"], ["d", "e"], ["a long one"]])
  }

  @Test func `are kept as many as are set, and other files are left alone`() throws {
    let others = [
      "other", "requests.jsonl.1", "requests.jsonl.20200101T093000.000000Z.gz",
      "requests.jsonl.20200102T093000.000000Z", "requests.jsonl.20200103T093000.000000Z",
    ]
    let log = try LogFolder(rotation: LogRotation(maximumSize: 1, keep: 3)) { folder in
      for number in 1...2 { _ = try LogFolder.oldFile(number, in: folder) }
      for name in others.prefix(3) { try folder.write("other\n", to: name) }
      // Neither is a file of the log, though it has such a name.
      try folder.makeFolder(others[3])
      try folder.link(others[4], to: "other")
    }
    var counts: [Int] = []
    for number in 0..<5 {
      try log.write("\(number)")
      counts.append(try log.folder.names.count - 1 - others.count)
    }
    #expect(counts == [2, 3, 3, 3, 3])
    let names = try log.folder.names
    let old = names.filter { $0 != "requests.jsonl" && !others.contains($0) }
    #expect(try old.map { try log.folder.lines($0) } == [["1"], ["2"], ["3"]])
    #expect(Set(others).isSubset(of: names) && log.faults.count == 0)
    #expect(try log.folder.lines("other") == ["other"])
  }

  @Test func `count as the oldest if their stamps are of the future: the clock was ahead then`() throws {
    let log = try LogFolder(rotation: LogRotation(maximumSize: 1, keep: 3)) { folder in
      for number in 1...3 { _ = try LogFolder.oldFile(number, in: folder, year: 2262) }
    }
    try log.write("1", "2", "3")
    #expect(try log.files() == [["1"], ["2"], ["old"], ["3"]])
    #expect(try log.folder.names.last?.contains(".22620101T093003.") == true)
  }

  @Test func `are followed by one with their permissions, to which its owner may write`() throws {
    for (mode, expected) in [(0o600, 0o600), (0o646, 0o646), (0o440, 0o640)] as [(mode_t, UInt32)] {
      let log = try LogFolder(rotation: LogRotation(maximumSize: 1)) {
        try $0.write("old\n", to: "requests.jsonl")
      }
      try #require(chmod(log.path, mode) == 0)
      try log.write("1")
      var modes = [log.folder.mode(of: "requests.jsonl")]
      // After one that another process moves away, too: it may have got others meanwhile.
      for other in [0o646, 0o604] as [mode_t] {
        try #require(chmod(log.path, other) == 0)
        try log.folder.move("requests.jsonl", to: "moved")
        try log.write("2")
        modes.append(log.folder.mode(of: "requests.jsonl"))
      }
      #expect(modes == [expected, 0o646, 0o604])
    }
  }
}

@Suite struct LogRotationTests {
  @Test func `a file takes whole lines up to its size, and one line at least`() {
    // The maximum, the size of the file, the next line, and what the file takes.
    let rows: [(maximum: Int, size: Int, next: Int, capacity: Int?)] = [
      (1_000, 0, 100, 1_000), (1_000, 0, 2_000, 2_000), (1_000, 900, 100, 100), (1_000, 901, 100, nil),
      (1_000, 5_000, 1, nil), (1, 0, 9, 9), (1, 1, 1, nil), (.min, 0, 9, 9), (.min, 1, 1, nil),
      (.max, 5, 1, .max - 5),
    ]
    let capacities = rows.map {
      LogRotation(maximumSize: $0.maximum).capacity(size: $0.size, next: $0.next)
    }
    #expect(capacities == rows.map(\.capacity))
  }

  @Test func `the newest files are kept, and those with stamps of the future go first`() {
    // The number to keep, the stamps, the newest, and those to remove.
    let rows: [(keep: Int, stamps: String, newest: String, excess: String)] = [
      (2, "c a b", "c", "a"), (3, "c a b", "c", ""), (9, "c a b", "c", ""), (0, "c a b", "c", "a b c"),
      (.min, "a", "a", "a"), (.max, "a", "a", ""), (2, "", "a", ""), (2, "y a z b", "b", "y z"),
      (1, "y a z b", "b", "y z a"), (3, "y a z b", "b", "y"),
    ]
    let excess = rows.map { row in
      let stamps = row.stamps.split(separator: " ").map(String.init)
      return LogRotation(maximumSize: 1, keep: row.keep).excess(of: stamps, newest: row.newest)
        .joined(separator: " ")
    }
    #expect(excess == rows.map(\.excess))
  }
}
