import SessionTap
import TestSupport

@Suite struct TapEndTests {
  /// Held by the tap's recorder, which the classes of its sessions lead to.
  private final class Held: RequestObserver {
    let gate: Gate
    init(_ gate: Gate) { self.gate = gate }
    deinit { gate.open() }
    func requestEnded(_ observation: RequestObservation) {}
  }

  @Test func `a flush has recorded, delivered and written all that came before`() async throws {
    let heard = Mutex<[String]>([])
    let log = Mutex<RequestLog?>(nil)
    struct Observer: RequestObserver {
      let heard: @Sendable (String) -> Void
      func requestEnded(_ observation: RequestObservation) { heard(observation.request.url) }
    }
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    var configuration = Tap.Configuration.test(log: .file(path))
    configuration.observers = [
      Observer { url in
        heard.withLock { $0.append(url) }
        log.withLock { $0 }?.log(.info, "heard \(url)")
      }
    ]
    let tap = try Tap(configuration)
    log.withLock { $0 = tap.requestLog }
    for number in 0..<10 {
      tap.inbound.begin(method: "GET", path: "/\(number)").end(statusCode: 200)
      #expect(await tap.flush(within: .seconds(100)))
      #expect(heard.withLock { $0.last } == "/\(number)")
      let text = try String(contentsOfFile: path, encoding: .utf8)
      #expect(text.contains("\"url.path\":\"/\(number)\""))
      // What an observer logs meanwhile, too.
      #expect(text.contains("\"message\":\"heard /\(number)\""))
    }
    await tap.shutdown()
  }

  @Test func `what is active at the end has a line, the oldest first, and is counted`() async throws {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let tap = try Tap(.test(log: .file(path)))
    let requests = (0..<3).map { tap.outbound.begin(client: "c", method: "GET", url: "http://host/\($0)") }
    tap.inbound.begin(method: "GET", path: "/done").end(statusCode: 200)
    let served = tap.inbound.begin(method: "GET", path: "/served")
    let urls: [String] = ["http://host/0", "http://host/1", "http://host/2", "/served"]
    #expect(tap.activeRequests().map(\.request.url) == urls)
    #expect(tap.activeRequests(olderThan: .seconds(3_600)).isEmpty)
    requests[1].end(statusCode: 200)
    #expect(tap.registry.value(ofSeries: "session_tap_unfinished_requests") == 0)
    await tap.shutdown()
    #expect(tap.registry.value(ofSeries: "session_tap_unfinished_requests") == 3)
    for request in [requests[0], requests[2], served] { request.end(statusCode: 200) }
    await tap.shutdown()
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    let unfinished = lines.filter { $0.contains(".unfinished\"") }
    #expect(unfinished.count == 3)
    let names = ["\"http://host/0\"", "\"http://host/2\"", "\"/served\""]
    #expect(zip(unfinished, names).allSatisfy { $0.contains($1) })
    #expect(lines.count == 5)
  }

  /// Ends its request as soon as somebody looks at it.
  private final class EndingSource: RequestProgressSource {
    let request = Mutex<RequestRecord?>(nil)
    var progress: RequestProgress { RequestProgress() }

    func look(then done: @escaping @Sendable () -> Void) {
      request.withLock { $0.take() }?.end(.response(statusCode: 200))
      done()
    }
  }

  /// Ends a request once some are reported as unfinished, and has that delivered while the log takes lines.
  private final class EndingConsumer: RequestConsumer {
    let request = Mutex<ActiveRequest?>(nil)
    let recorder = Mutex<RequestRecorder?>(nil)

    func requestEnded(_ observation: RequestObservation) {}
    func requestIsUnfinished(_ snapshot: RequestSnapshot) {
      request.withLock { $0.take() }?.end(statusCode: 200)
    }

    func batchEnded() { recorder.withLock { $0 }?.drain() }
  }

  /// Requests that end while they are looked at, after they were reported, before, and not at all.
  @Test(.needs(.program), .serialized, arguments: [false, true], [false, true])
  func `each request has one line, also one that ends while the tap does`(
    isExit: Bool, drains: Bool
  ) async throws {
    let folder = try TemporaryFolder()
    try ExitValues.give("TapEndTests.3", folder("requests.jsonl"), isExit, drains)
    await #expect(processExitsWith: .exitCode(7)) {
      let (path, isExit, drains) = try ExitValues.take("TapEndTests.3", String.self, Bool.self, Bool.self)
      let (source, consumer) = (EndingSource(), EndingConsumer())
      let tap = try Tap(.test(log: .file(path)) { $0.consumers = [consumer] })
      func begin(_ path: String) -> ActiveRequest {
        tap.outbound.begin(client: "c", method: "GET", url: "http://host/\(path)")
      }
      let first = RequestRecord(
        RequestDescription(client: "c", method: "GET", url: "http://host/looked"), recorder: tap.recorder,
        progress: source)
      first.begin()
      source.request.withLock { $0 = first }
      consumer.request.withLock { $0 = begin("reported") }
      if drains { consumer.recorder.withLock { $0 = tap.recorder } }
      let active = begin("active")
      begin("before").end(statusCode: 200)
      if !isExit { await tap.shutdown() }
      withExtendedLifetime((active, first)) { exit(7) }
    }
    let lines = try folder.lines("requests.jsonl").compactMap {
      $0.firstMatch(of: /"event":"http\.client\.request(\.unfinished)?",.*host\/(\w+)"/)
    }
    #expect(
      lines.map { "\($0.2)\($0.1 ?? "")" }.sorted()
        == ["active.unfinished", "before", "looked", "reported.unfinished"])
  }

  @Test func `a flush does not wait for longer than said`() async throws {
    let gate = Gate()
    struct Observer: RequestObserver {
      let gate: Gate
      func requestStarted(_ request: RequestDescription) { gate.waitBlocking() }
      func requestEnded(_ observation: RequestObservation) {}
    }
    let tap = try Tap(.test { $0.observers = [Observer(gate: gate)] })
    tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    #expect(await tap.flush(within: .zero) == false)
    gate.open()
    #expect(await tap.flush(within: .seconds(100)))
    await tap.shutdown()
  }

  @Test func `what a scrape logs while the tap is shut down is in the log`() async throws {
    /// A slow one.
    struct Observer: RequestObserver {
      let heard: EventQueue<String>
      func requestEnded(_ observation: RequestObservation) {
        poll(nil, 0, 50)
        heard.send(observation.request.url)
      }
    }
    struct Work: Collector {
      let work: @Sendable () -> Void
      func collect() -> [MetricFamily] {
        work()
        return [MetricFamily(name: "work", help: "Work.", kind: .gauge, samples: [.init(value: 1)])]
      }
    }
    let heard = EventQueue<String>()
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let (isRegistered, asked, mayAnswer) = (Gate(), Gate(), Gate())
    var configuration = Tap.Configuration.test(log: .file(path))
    configuration.shutdownTimeout = .seconds(100)
    configuration.observers = [Observer(heard: heard)]
    let tap = try Tap.start(configuration)
    try tap.registry.register(
      Work { [log = tap.requestLog, inbound = tap.inbound] in
        guard isRegistered.isOpen else { return }
        asked.open()
        mayAnswer.waitBlocking()
        log?.log(.info, "late")
        inbound.begin(method: "GET", path: "/late").end(statusCode: 200)
      })
    isRegistered.open()
    let client = try RawClient(port: #require(tap.address?.port), asking: "/metrics")
    try await asked.wait("the request")
    let shutdown = Task { await tap.shutdown() }
    try await Poll.until("the shutdown to begin") { tap.address == nil }
    mayAnswer.open()
    #expect(await client.receiveAll().text.contains("\nwork 1\n"))
    client.reset()
    await shutdown.value
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text.contains("\"message\":\"late\"") && text.contains("\"url.path\":\"/late\""))
    // Observers have heard of it by then.
    let late = try await heard.next(seconds: 0, "the late request")
    #expect(late == "/late")
  }

  @Test func `a tap that is released takes its parts with it`() async throws {
    let released = Gate()
    let session: URLSession
    do {
      let configuration = Tap.Configuration.test { $0.observers = [Held(released)] }
      session = try Tap(configuration).session(client: "orphan", configuration: .ephemeral)
    }
    try await released.wait("the release of the recorder")
    let closed = try ClosedPort()
    _ = try? await session.data(from: #require(URL(string: "http://127.0.0.1:\(closed.port)/")))
    session.invalidateAndCancel()
    #expect(session.configuration.protocolClasses?.isEmpty == false)
  }

  @Test func `a tap that waits for its address can be released`() async throws {
    let taken = try Origin { _ in [.close] }
    let released = Gate()
    do {
      let tap = try Tap.start(
        .test {
          $0.endpoint?.address = .loopback(port: taken.port)
          $0.addressRetryInterval = .milliseconds(5)
          $0.observers = [Held(released)]
        })
      #expect(tap.address == nil)
    }
    try await released.wait("the release of the tap")
  }

  @Test func `a tap that was shut down is released without a word`() async throws {
    let released = Gate()
    let log: RequestLog
    do {
      let tap = try Tap.start(.test(log: .memory) { $0.observers = [Held(released)] })
      log = try #require(tap.requestLog)
      await tap.shutdown()
    }
    try await released.wait("the release of the tap")
    #expect(log.statistics.droppedLines(.shutdown) == 0)
  }

  @Test(.needs(.program)) func `at an exit without a shutdown observers get the last calls`() async throws {
    struct Observer: RequestObserver {
      func requestEnded(_ observation: RequestObservation) {
        // The others wait meanwhile.
        if observation.request.url.hasSuffix("/1") { poll(nil, 0, 200) }
        FileHandle.standardOutput.write(Data("\(observation.request.url)\n".utf8))
      }
    }
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardOutputContent]) {
      let tap = try Tap(.test { $0.observers = [Observer()] })
      for number in 1...20 {
        tap.outbound.begin(client: "c", method: "GET", url: "http://host/\(number)").end(statusCode: 200)
      }
      withExtendedLifetime(tap) { exit(7) }
    }
    let text = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
    #expect(text.matches(of: /http:\/\/host\/\d+/).count == 20)
  }

  private static let exiting = Mutex<Tap?>(nil)

  /// libcurl registers the end of OpenSSL with atexit(3). Behind it a transfer that is active can end the
  /// process, so the tap takes no time there.
  @Test(.needs(.program)) func `at an exit the log is written before libcurl ends`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let tap = try Tap.start(.test(log: .memory))
      Self.exiting.withLock { $0 = tap }
      atexit { _exit(TapEndTests.exiting.withLock { $0?.requestLog?.statistics.lines } == 1 ? 7 : 1) }
      _ = tap.sessionConfiguration(from: .ephemeral, client: "c")
      tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      exit(0)
    }
  }

  @Test(.needs(.program), .serialized, arguments: [false, true])
  func `a session whose tap has ended is told once on standard error`(isShutDown: Bool) async throws {
    let closed = try ClosedPort()
    try ExitValues.give("TapEndTests.1", isShutDown, closed.port)
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let (isShutDown, port) = try ExitValues.take("TapEndTests.1", Bool.self, Int.self)
      var tap: Tap? = try Tap(.test())
      let session = try #require(tap?.session(client: "late", configuration: .ephemeral))
      if isShutDown { await tap?.shutdown() }
      tap = nil
      for _ in 0..<2 { _ = try? await session.data(from: #require(URL(string: "http://127.0.0.1:\(port)/"))) }
      exit(7)
    }
    #expect(try #require(result).said.count { $0.contains("keep the tap, and shut it down last") } == 1)
  }

  @Test(.needs(.program)) func `the app is waited for at a signal, and its last requests are recorded`()
    async throws
  {
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    try ExitValues.give("TapEndTests.2", path)
    await #expect(processExitsWith: .exitCode(7)) {
      struct Failed: Error {}
      @Sendable func waitForSignal() async throws {
        kill(getpid(), SIGTERM)
        try await Gate.waitForCancel()
      }
      let path = try ExitValues.take("TapEndTests.2", String.self)
      let tap = try Tap.start(.test(log: .file(path)))
      try await tap.runUntilTerminated {
        try await waitForSignal()
        tap.inbound.begin(method: "GET", path: "/last").end(statusCode: 200)
        try Task.checkCancellation()
      }
      // What is no cancellation is an error of the app's then, too.
      let other = try Tap.start(.test())
      await #expect(throws: Failed.self) {
        try await other.runUntilTerminated {
          try await waitForSignal()
          throw Failed()
        }
      }
      exit(7)
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8).contains("\"url.path\":\"/last\""))
  }

  @Test(.needs(.program))
  func `a wait ends with the signal or its task, and the signal's action is the app's`() async throws {
    await #expect(processExitsWith: .signal(SIGINT)) {
      let first = try Tap.start(.test())
      let cancelled = Task { await first.runUntilTerminated() }
      cancelled.cancel()
      await cancelled.value
      let second = try Tap.start(.test())
      let asked = Task { await second.runUntilTerminated() }
      try await waitForHandler(of: SIGINT)
      kill(getpid(), SIGINT)
      await asked.value
      #expect(second.address == nil)
      kill(getpid(), SIGINT)
      try await Poll.until("end of the process by the second signal") { false }
    }
  }

  @Test(.needs(.program)) func `an app that does not end at a signal is told what it may wait for`()
    async throws
  {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardErrorContent]) {
      let tap = try Tap.start(.test(log: .memory) { ($0.isQuiet, $0.logging.recentLineLimit) = (false, 9) })
      let request = tap.outbound.begin(client: "c", method: "GET", url: "http://host/slow?token=s3cret")
      try await tap.runUntilTerminated {
        kill(getpid(), SIGTERM)
        // A task that does not care for its cancel.
        try await Poll.until("the warning") { tap.requestLog?.recentText.contains("has not ended") == true }
      }
      withExtendedLifetime(request) { exit(7) }
    }
    let said = try #require(result).said.filter { $0.contains("the app was asked to end, and has not ended") }
    let request = "active requests: 1, the oldest: GET http://host/slow?token=REDACTED waits for response, 1."
    #expect(said.count == 1 && said.first?.contains(request) == true)
    #expect(!said.joined().contains("s3cret"))
  }

  @Test func `an app's error is thrown after the shutdown`() async throws {
    struct Failed: Error {}
    let tap = try Tap.start(.test())
    await #expect(throws: Failed.self) { try await tap.runUntilTerminated { throw Failed() } }
    #expect(tap.address == nil)
    #expect(throws: TapError.self) { try tap.start() }
    // Without a signal a cancellation is the app's own error.
    let other = try Tap.start(.test())
    await #expect(throws: CancellationError.self) {
      try await other.runUntilTerminated { throw CancellationError() }
    }
  }

  @Test(.needs(.program)) func `a signal ends all waits, also after one of them was let go`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      signal(SIGINT, SIG_IGN)
      var signals = (0..<3).map { _ in TerminationSignals() }
      try await waitForHandler(of: SIGTERM)
      signals.removeFirst()
      kill(getpid(), SIGTERM)
      let ended = Gate()
      Task { [signals] in
        for waiting in signals { await waiting.wait() }
        ended.open()
      }
      try await ended.wait("the end of all waits")
      // Each has the action again that the app gave it.
      #expect(handler(of: SIGTERM) == 0 && handler(of: SIGINT) == 1)
      // A wait that begins later has a signal of its own, though the others are still there.
      let later = TerminationSignals()
      try await waitForHandler(of: SIGTERM)
      kill(getpid(), SIGTERM)
      let endedLater = Gate()
      Task {
        await later.wait()
        endedLater.open()
      }
      try await endedLater.wait("the end of the later wait")
      withExtendedLifetime(signals) {}
      exit(7)
    }
  }
}
