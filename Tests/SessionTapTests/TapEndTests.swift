import SessionTap
import TestSupport

@Suite struct TapEndTests {
  @Test func `a flush has recorded, delivered and written all that came before`() async throws {
    let heard = Watched<[String]>([])
    let log = Mutex<RequestLog?>(nil)
    let folder = try TemporaryFolder()
    let observer = CallingObserver(ended: { observation in
      heard.change { $0.append(observation.request.url) }
      log.withLock { $0 }?.log(.info, "heard \(observation.request.url)")
    })
    let tap = try Tap(.test(log: .file(folder("requests.jsonl"))) { $0.observers = [observer] })
    log.withLock { $0 = tap.requestLog }
    for number in 0..<10 {
      tap.inbound.begin(method: "GET", path: "/\(number)").end(statusCode: 200)
      #expect(await tap.flush(within: .seconds(100)))
      // What an observer logs meanwhile, too.
      let lines = try jsonObjects(folder.text("requests.jsonl")).suffix(2).map {
        $0.row("url.path", "message")
      }
      #expect(heard.state.last == "/\(number)" && Set(lines) == ["/\(number) -", "- heard /\(number)"])
    }
    await tap.shutdown()
  }

  @Test func `what is active at the end has a line, the oldest first, and is counted`() async throws {
    let folder = try TemporaryFolder()
    let tap = try Tap(.test(log: .file(folder("requests.jsonl"))))
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
    let lines = try jsonObjects(folder.text("requests.jsonl"))
    let unfinished = lines.filter { $0.row("event").hasSuffix(".unfinished") }
    #expect(
      unfinished.map { $0.row("url.full", "url.path") } == [
        "http://host/0 -", "http://host/2 -", "- /served",
      ])
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
  @Test(arguments: [false, true])
  func `each request has one line, also one that ends while the tap does`(drains: Bool) async throws {
    let folder = try TemporaryFolder()
    let (source, consumer) = (EndingSource(), EndingConsumer())
    let tap = try Tap(.test(log: .file(folder("requests.jsonl"))) { $0.consumers = [consumer] })
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
    await tap.shutdown()
    withExtendedLifetime((active, first)) {}
    let lines = try folder.lines("requests.jsonl").compactMap {
      $0.firstMatch(of: /"event":"http\.client\.request(\.unfinished)?",.*host\/(\w+)"/)
    }
    #expect(
      lines.map { "\($0.2)\($0.1 ?? "")" }.sorted()
        == ["active.unfinished", "before", "looked", "reported.unfinished"])
  }

  @Test func `what a scrape logs while the tap is shut down is in the log`() async throws {
    let folder = try TemporaryFolder()
    let heard = Watched<[String]>([])
    let (asked, mayAnswer) = (Gate(), Gate())
    let tap = try Tap.start(
      .test(log: .file(folder("requests.jsonl"))) {
        $0.shutdownTimeout = .seconds(100)
        // A slow one.
        $0.observers = [
          CallingObserver(ended: { observation in
            poll(nil, 0, 50)
            heard.change { $0.append(observation.request.url) }
          })
        ]
      })
    try tap.registry.gauge("work", help: "Work.") { [log = tap.requestLog, inbound = tap.inbound] in
      asked.open()
      mayAnswer.waitBlocking()
      log?.log(.info, "late")
      inbound.begin(method: "GET", path: "/late").end(statusCode: 200)
      return 1
    }
    let client = try RawClient(port: #require(tap.address?.port), asking: "/metrics")
    try await asked.wait("the request")
    let shutdown = Task { await tap.shutdown() }
    try await Poll.until("the shutdown to begin") { tap.address == nil }
    mayAnswer.open()
    #expect(await client.receiveAll().text.contains("\nwork 1\n"))
    client.reset()
    await shutdown.value
    let lines = try jsonObjects(folder.text("requests.jsonl")).map { $0.row("message", "url.path") }
    // Observers have heard of it by then.
    #expect(lines.sorted() == ["- /late", "late -"] && heard.state == ["/late"])
  }

  // MARK: The release

  /// Held by the tap's recorder, which the classes of its sessions lead to.
  private final class Held: RequestObserver {
    let gate: Gate
    init(_ gate: Gate) { self.gate = gate }
    deinit { gate.open() }
    func requestEnded(_ observation: RequestObservation) {}
  }

  @Test(arguments: ["made", "started", "waiting for its address", "shut down"])
  func `a tap that is released takes its parts with it, and says so in its log if it ran`(
    state: String
  ) async throws {
    let (released, taken) = (Gate(), try Origin { _ in [.close] })
    let log: RequestLog
    let session: URLSession
    do {
      let port = state.hasPrefix("waiting") ? taken.port : 0
      let tap = try Tap(
        .test(at: .loopback(port: port)) {
          ($0.servesLog, $0.observers, $0.addressRetryInterval) = (true, [Held(released)], .milliseconds(5))
        })
      log = try #require(tap.requestLog)
      session = tap.session(client: "orphan", configuration: .ephemeral)
      if state != "made" { try tap.start() }
      if state == "shut down" { await tap.shutdown() }
      #expect((tap.address != nil) == (state == "started"))
    }
    try await released.wait("the release of the tap")
    log.flush()
    let isSaid = try jsonObjects(log.recentText).contains {
      $0.row("severity", "message")
        == "WARN the tap was released without a shutdown: its sessions are observed no more, and its metrics "
        + "are not served (keep a reference to the tap)"
    }
    #expect(isSaid == !["made", "shut down"].contains(state) && log.statistics.droppedLines(.shutdown) == 0)
    session.invalidateAndCancel()
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

  // MARK: An exit without a shutdown

  @Test(.needs(.program)) func `at an exit without a shutdown observers get the last calls`() async throws {
    let result = await #expect(processExitsWith: .exitCode(7), observing: [\.standardOutputContent]) {
      let observer = CallingObserver(ended: {
        // The others wait meanwhile.
        if $0.request.url.hasSuffix("/1") { poll(nil, 0, 200) }
        FileHandle.standardOutput.write(Data("\($0.request.url)\n".utf8))
      })
      let tap = try Tap(.test { $0.observers = [observer] })
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
}
