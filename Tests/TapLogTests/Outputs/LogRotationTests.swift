import TestSupport

@testable import TapLog

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
