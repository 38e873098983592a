import TestSupport

@testable import TapCore

@Suite(.needs(.program)) struct ExitFlushTests {
  /// Flushes by a call.
  private final class Calling: FlushedAtExit {
    private let call: @Sendable (Duration) -> Void

    init(_ call: @escaping @Sendable (Duration) -> Void) { self.call = call }

    func flushAtExit(within limit: Duration) { call(limit) }
  }

  /// Takes a tenth of a second, and ends the process if it is given more than what was left, or less than a
  /// second from a time before the first flush.
  private static func slow(most: Duration, since before: Instant) -> Calling {
    Calling { limit in
      let start = ContinuousClock.now
      if limit > most { _exit(1) }
      if limit < Duration.seconds(1) - before.duration(to: .now) { _exit(2) }
      while ContinuousClock.now - start < .milliseconds(100) {}
    }
  }

  /// Appends its name to a file.
  private static func named(_ name: String, _ path: String) -> Calling {
    Calling { _ in
      let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
      _ = write(file, name, name.utf8.count)
      close(file)
    }
  }

  @Test func `all together have one second`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let added = Instant.now
      let before = added.advanced(by: .milliseconds(50))
      let objects = [700, 800, 900, 1_000].map { Self.slow(most: .milliseconds($0), since: before) }
      for object in objects { ExitFlush.add(object) }
      // The time until the exit does not count.
      while added.duration(to: .now) < .milliseconds(50) {}
      withExtendedLifetime(objects) { exit(7) }
    }
  }

  @Test func `what is to be flushed at the exit is not kept until then`() {
    weak var released: Calling?
    do {
      let object = Calling { _ in }
      released = object
      ExitFlush.add(object)
    }
    #expect(released == nil)
  }

  private static let flushes = Atomic(0)

  @Test func `what a library registers for the exit comes behind a flush that precedes it`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let object = Calling { _ in Self.flushes.add(1, ordering: .relaxed) }
      ExitFlush.add(object)
      atexit { _exit(ExitFlushTests.flushes.load(ordering: .relaxed) == 1 ? 7 : 1) }
      ExitFlush.precedeEarlierFunctions()
      withExtendedLifetime(object) { exit(0) }
    }
  }

  @Test func `the last that was added comes first, and a forked child leaves the parent's alone`()
    async throws
  {
    let folder = try TemporaryFolder()
    try ExitValues.give("ExitFlushTests", folder("flushed"))
    await #expect(processExitsWith: .exitCode(7)) {
      let path = try ExitValues.take("ExitFlushTests", String.self)
      let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> pid_t).self)
      let (first, second) = (Self.named("first ", path), Self.named("second ", path))
      ExitFlush.add(first)
      ExitFlush.add(second)
      let child = fork()
      if child == 0 {
        let own = Self.named("child ", path)
        ExitFlush.add(own)
        withExtendedLifetime((own, first, second)) { exit(0) }
      }
      var status: Int32 = 0
      guard waitpid(child, &status, 0) == child, status == 0 else { exit(1) }
      withExtendedLifetime((first, second)) { exit(7) }
    }
    #expect(try folder.text("flushed") == "child second first ")
  }
}
