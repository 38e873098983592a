import TestStart
import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct SynchronizationTests {
  @Test func `is due an interval after the first write, and then not before another one`() throws {
    let log = try LogFolder(synchronizationInterval: .seconds(10))
    #expect(log.output.maintain(now: Instant.now) == .never)
    let before = Instant.now
    try log.write("1")
    let due = log.output.maintain(now: before)
    #expect((before.advanced(by: .seconds(10))...Instant.now.advanced(by: .seconds(10))).contains(due))
    try log.write("2")
    #expect([before, due, before].map { log.output.maintain(now: $0) } == [due, .never, .never])
    try log.write("3")
    log.output.flush()
    #expect(log.output.maintain(now: before) == .never)
    // Before a file is left, too.
    try log.write("4")
    log.output.close()
    #expect(log.output.maintain(now: before) == .never)
    // It is left to the system unless asked for.
    let other = try LogFolder()
    try other.write("line")
    #expect(other.output.maintain(now: .never) == .never)
  }

  @Test func `is done before a rotation, and due anew behind it`() throws {
    let rotation = LogRotation(maximumSize: 1)
    let log = try LogFolder(rotation: rotation, synchronizationInterval: .seconds(10))
    try log.write("1")
    let before = Instant.now
    try log.write("2")
    #expect(log.output.maintain(now: before) >= before.advanced(by: .seconds(10)))
  }

  /// The kernel lets it be written to and refuses to synchronize it, so that each attempt is counted. It
  /// refuses the folder, too, which is no fault.
  private static let refusing = "/proc/self/comm"
  private static var isRefused: Bool {
    let descriptor = open(refusing, O_WRONLY | O_CLOEXEC)
    defer { close(descriptor) }
    return descriptor >= 0 && fsync(descriptor) != 0 && errno == EINVAL
  }

  @Test(.enabled(if: SynchronizationTests.isRefused, "no file refuses it"))
  func `is asked of the system by a flush, when it is due, and before a file is left`() async {
    await #expect(processExitsWith: .success) {
      let log = try LogFolder(Self.refusing, synchronizationInterval: .seconds(10))
      var counts: [UInt64] = []
      func count() { counts.append(log.faults.count) }
      log.output.flush()
      count()
      try log.write("a")
      count()
      for _ in 0..<2 {
        log.output.flush()
        count()
      }
      try log.write("b")
      #expect(log.output.maintain(now: .never) == .never)
      count()
      try log.write("c")
      log.output.close()
      count()
      #expect(counts == [0, 0, 1, 1, 2, 3])
    }
  }

  /// Else a loss of power takes the name of a new file, and all of its lines.
  @Test func `is asked of the folder of a new file, and refused by one that cannot without a fault`() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let counts = try [
        (EIO, "file", .seconds(10)), (EINVAL, "other", .seconds(10)), (EIO, "third", nil),
        (EIO, "/dev/null", .seconds(10)),
      ].map { (error: Int32, name, interval: Duration?) in
        refuse_synchronization_of_folders(error)
        let path = name.hasPrefix("/") ? name : folder(name)
        return try LogFolder(path, synchronizationInterval: interval).faults.count
      }
      #expect(counts == [1, 0, 0, 0])
    }
  }

  @Test func `leaves no descriptor behind, of the folder or of a file that was rotated`() async {
    await #expect(processExitsWith: .success) {
      let counts = try (0..<3).map { _ in
        let log = try LogFolder(
          rotation: LogRotation(maximumSize: 1), synchronizationInterval: .seconds(1))
        try log.write("1", "2", "3")
        log.output.close()
        return try OpenDescriptors.count
      }
      #expect(Set(counts).count == 1)
    }
  }
}
