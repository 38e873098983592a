import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct FaultTextTests {
  @Test(arguments: [
    (
      System.Failure.denied, "/log",
      "let this process's user write to the file and search its directory, or choose another path"
    ),
    (.missing, "/tmp/log", "no file can be made in that directory, choose a path in another"),
    (.missing, "log", "no file can be made in that directory, choose a path in another"),
    (.missing, "/no such folder/log", "make the directory first, or choose another path"),
    (.isDirectory, "/tmp", "name a file in that directory"),
    (.readOnly, "/log", "choose a path on a file system that can be written to"),
    (.noSpace, "/log", "make room on that file system, or choose another path"),
    (.tooManyFiles, "/log", "raise the limit of open files (ulimit -n), or close some"),
    (.nameTooLong, "/log", "choose a shorter path"),
    (.invalid, "/log", "choose a path where this process can append to a file"),
  ])
  func `has the cause and the remedy`(failure: System.Failure, path: String, remedy: String) {
    #expect(RequestLogError.advice(on: failure, path: path) == "\(failure.text); \(remedy)")
  }

  @Test(arguments: [System.Failure.noReader, .brokenPipe])
  func `says of a pipe that nobody reads what it lacks`(failure: System.Failure) {
    #expect(RequestLogError.advice(on: failure, path: "/log") == "it has no reader; start one")
  }

  @Test func `names a path on one line, and no more than its beginning`() {
    let text = String(repeating: "x", count: 200)
    #expect(RequestLogError.quoted(text) == "\"\(text)\"")
    #expect(RequestLogError.quoted(text + "y") == "\"\(text)…\"")
    #expect(RequestLogError.quoted("a\n\"b\"") == #""a\n\"b\"""#)
  }

  @Test func `names the place of the log`() {
    let destination: RequestLog.Destination = [
      .file("a.jsonl"), .standardError, .memory, .custom(CollectingSink()), .file("a.jsonl"), .standardOutput,
      .descriptor(2),
    ]
    let texts = ["\"a.jsonl\"", "(descriptor 2)", "(memory)", "(custom)", "(descriptor 1)"]
    #expect(destination.places.map(\.text) == texts)
    #expect(!RequestLog.Destination.descriptor(3).usesStandardStreams)
    #expect(destination.isFile)
    #expect(!RequestLog.Destination([.standardOutput, .memory]).isFile)
  }

  @Test func `is of one of four kinds`() {
    let codes: [RequestLogError.Code] = [
      .cannotOpen, .reservedField, .invalidField, .cannotStartWriter,
    ]
    for (number, code) in codes.enumerated() { #expect(codes.firstIndex(of: code) == number) }
  }

  @Test func `has the words of the system about a descriptor that was closed`() throws {
    let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
    // High, so that no other thread gets the number next.
    let descriptor = fcntl(null, F_DUPFD_CLOEXEC, 800)
    close(null)
    try #require(descriptor >= 800)
    let place = RequestLog.Destination.descriptor(descriptor).places[0]
    var output = try place.makeOutput(.init(), LogFaults(of: "test"))
    close(descriptor)
    var batch = LineBuffer("a\n")
    let result = output.write(&batch)
    #expect(result.state == .failed("Bad file descriptor") && batch.count == 1)
  }

  @Test func `has the words of the sink that refuses lines`() throws {
    let sink = CollectingSink()
    sink.fail(true)
    var output = try RequestLog.Destination.custom(sink).places[0].makeOutput(.init(), LogFaults(of: "test"))
    var batch = LineBuffer("a\n", "b\n")
    let result = output.write(&batch)
    #expect(result.state == .failed("Refused()") && result.dropped == 2)
  }

  @Test func `of a sink is said once, whatever it refuses, and once when it takes it`()
    async throws
  {
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
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      .split(separator: "\n").map(String.init).filter { $0.hasPrefix("session-tap: ") }
    let expected = [
      "takes no lines: Refused(). Lines that are lost are counted", "takes lines again",
      "cannot be synchronized: Refused(). A loss of power may take lines", "is synchronized again",
    ].map { "session-tap: the log (custom) " + $0 }
    #expect(said == expected)
  }

  @Test func `is said once for each kind of fault, and once when it has ended`() async throws {
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
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
      .split(separator: "\n").map(String.init).filter { $0.hasPrefix("session-tap: ") }
    let remedy = "let this process's user list its directory and write to it"
    let expected = [
      "the log here takes no lines: why. Lines that are lost are counted",
      "the log here cannot be rotated, and grows: why; \(remedy)",
      "the old files of the log here cannot be removed, and grow in number: why; \(remedy)",
      "the log here cannot be synchronized: why. A loss of power may take lines",
      "the log here takes lines again", "the log here is rotated again",
      "the old files of the log here are removed again", "the log here is synchronized again",
    ].map { "session-tap: " + $0 }
    #expect(said == expected + expected)
  }
}
