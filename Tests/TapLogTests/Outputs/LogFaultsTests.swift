import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct LogFaultsTests {
  @Test func `are said once for each kind, and once when they have ended`() async throws {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let faults = LogFaults(of: "here")
      let kinds: [LogFaults.Kind] = [.lines, .rotation, .oldFiles, .synchronization]
      for _ in 0..<2 {
        for kind in kinds + kinds { faults.failed(kind, "why") }
        for kind in kinds + kinds { faults.works(kind) }
      }
      LogFaults(of: "quiet", isQuiet: true).failed(.lines, "why")
      exit(faults.count == 16 ? 7 : 1)
    }
    let remedy = "let this process's user list its directory and write to it"
    let expected = [
      "the log here takes no lines: why. Lines that are lost are counted",
      "the log here cannot be rotated, and grows: why; \(remedy)",
      "the old files of the log here cannot be removed, and grow in number: why; \(remedy)",
      "the log here cannot be synchronized: why. A loss of power may take lines",
      "the log here takes lines again", "the log here is rotated again",
      "the old files of the log here are removed again", "the log here is synchronized again",
    ].map { "session-tap: " + $0 }
    #expect(try #require(result).said == expected + expected)
  }

  @Test func `of a sink have its own words, whatever it refuses`() async throws {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let (sink, log) = try RequestLog.collecting()
      for isFailing in [true, false] {
        sink.fail(isFailing)
        for _ in 0..<2 { log.write("line") }
      }
      for isDurable in [false, true] {
        sink.makeDurable(isDurable)
        for _ in 0..<2 { log.write("line") }
      }
      exit(log.shutdown() ? 7 : 1)
    }
    let expected = [
      "takes no lines: Refused(). Lines that are lost are counted", "takes lines again",
      "cannot be synchronized: Refused(). A loss of power may take lines", "is synchronized again",
    ].map { "session-tap: the log (custom) " + $0 }
    #expect(try #require(result).said == expected)
  }

  @Test func `are a write's result: of a descriptor that was closed, and of a sink that refuses`() throws {
    let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
    // High, so that no other thread gets the number next.
    let descriptor = fcntl(null, F_DUPFD_CLOEXEC, 800)
    close(null)
    try #require(descriptor >= 800)
    let sink = CollectingSink()
    sink.fail(true)
    let destinations: [RequestLog.Destination] = [.descriptor(descriptor), .custom(sink)]
    var outputs = try destinations.map { try $0.places[0].makeOutput(.init(), LogFaults(of: "test")) }
    close(descriptor)
    let results = outputs.indices.map { index in
      var batch = LineBuffer("a\n", "b\n")
      return outputs[index].write(&batch)
    }
    let refused = LogOutputResult(dropped: 2, state: .failed("Refused()"))
    #expect(results == [.failed("Bad file descriptor"), refused])
  }
}
