import SessionTap
import TestSupport

/// What a start tells of the process before, which ended in some way of its own.
@Suite(.needs(.thread)) struct BlackBoxTests {
  private let folder: TemporaryFolder
  private var path: String { folder("requests") }

  init() throws { folder = try TemporaryFolder(isInMemory: true) }

  private static func configuration(_ folder: String) -> Tap.Configuration {
    .test(log: .file(folder + "/log.jsonl"), environment: ["OTEL_SERVICE_NAME": "shop"]) {
      $0.endpoint = nil
      $0.blackBox = folder + "/requests"
      $0.outbound.pathTemplates = ["/orders/{id}"]
    }
  }

  /// Starts a tap and shuts it down.
  ///
  /// - Returns: The lines of requests that a process left, and the messages of the others.
  private func start(
    _ change: (inout Tap.Configuration) -> Void = { _ in }
  ) async throws -> (left: [JSONMembers], messages: [String], tap: Tap) {
    folder.remove("log.jsonl")
    let tap = try Tap.start(with(Self.configuration(folder.path), change))
    await tap.shutdown()
    let lines = try jsonObjects(folder.text("log.jsonl"))
    let left = lines.filter { $0.row("event").hasSuffix(".unfinished") }
    return (left, lines.filter { $0.row("event") == "app" }.map { $0.row("message") }, tap)
  }

  enum End: Int, CaseIterable, Codable { case kill, trap, exit, shutdown }

  /// A process with two active requests that ends.
  private func end(_ end: End) async throws {
    try ExitValues.give("BlackBoxTests", folder.path, end)
    await #expect(processExitsWith: .failure) {
      let (folder, end) = try ExitValues.take("BlackBoxTests", String.self, End.self)
      let tap = try Tap.start(BlackBoxTests.configuration(folder))
      tap.outbound.begin(client: "c", method: "GET", url: "http://host/done").end(statusCode: 200)
      let made = tap.outbound.begin(
        client: "payments", method: "POST", url: "https://u:s3cret@host/orders/7?token=s3cret")
      let served = tap.inbound.begin(method: "GET", path: "/cart?s3cret", scheme: "http")
      switch end {
      case .kill: kill(getpid(), SIGKILL)
      case .trap: fatalError("as asked")
      case .exit: exit(1)
      case .shutdown:
        await tap.shutdown()
        kill(getpid(), SIGKILL)
      }
      withExtendedLifetime((made, served, tap)) { while true { pause() } }
    }
  }

  @Test(.serialized, arguments: End.allCases)
  func `each request that was active is told once, whatever ended the process`(end: End) async throws {
    let first = ContinuousClock.now
    try await self.end(end)
    let isTold = [.exit, .shutdown].contains(end)
    // By the process itself.
    if isTold { #expect(try folder.text("log.jsonl").ranges(of: ".unfinished\"").count == 2) }
    let (left, messages, tap) = try await start()
    let rows = left.map {
      $0.row(
        "event", "url.full", "url.path", "url.template", "client.name", "http.request.method",
        "server.address",
        "server.port", "service.name", "waiting_for", "message")
    }
    let expected = [
      "http.client.request.unfinished https://host/orders/7 - /orders/{id} payments POST host 443 shop response",
      "http.server.request.unfinished - /cart - - GET - - shop handler",
    ].map { "\($0) the process ended without a shutdown" }
    #expect(rows == (isTold ? [] : expected) && messages.count == (isTold ? 0 : 1))
    #expect(
      tap.registry.value(ofSeries: "session_tap_black_box_unfinished_requests_total") == (isTold ? 0 : 2))
    #expect(tap.recorder.blackBox?.previous?.requestCount == (isTold ? nil : 2))
    if let made = left.first {
      let (age, pid) = (try #require(made.number("duration_s")), made.row("black_box.pid"))
      #expect(age >= 0 && .seconds(age) <= ContinuousClock.now - first)
      #expect(made["trace_id"] != nil && made["black_box.last_sign_of_life"] != nil)
      #expect(left[1].row("black_box.pid") == pid)
      #expect(
        messages[0].hasPrefix("process \(pid) of shop ended without a shutdown, last seen at 20")
          && messages[0].hasSuffix("; active requests: 2; a line for each follows"))
    }
    #expect(try folder.text("log.jsonl").contains("s3cret") == false)
    #expect(try await start().left.isEmpty)
  }

  @Test func `of requests without a place in the file there is the number`() async throws {
    try ExitValues.give("BlackBoxTests.many", folder.path)
    await #expect(processExitsWith: .failure) {
      let folder = try ExitValues.take("BlackBoxTests.many", String.self)
      let tap = try Tap.start(BlackBoxTests.configuration(folder))
      let requests = (0..<4_099).map { tap.inbound.begin(method: "GET", path: "/\($0)") }
      withExtendedLifetime((requests, tap)) { _ = kill(getpid(), SIGKILL) }
    }
    let left = try await start().left
    let rest = left.filter { $0.row("event") == "session_tap.requests.unfinished" }
    #expect(left.count == 4_097 && rest.map { $0.row("requests") } == ["3"])
  }

  @Test func `where the app has a rule for what is shown, nothing of a URL is kept`() async throws {
    var configuration = Self.configuration(folder.path)
    configuration.logging.redaction.custom = { $1 }
    let tap = try Tap(configuration)
    let request = tap.outbound.begin(client: "c", method: "GET", url: "https://host/orders/s3cret")
    let content = try #require(try BlackBoxFile.read(path: path).content)
    #expect(content.requests.map { [$0.request.url, $0.request.urlTemplate] } == [["", "/orders/{id}"]])
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data("s3cret".utf8)) == nil)
    request.end(statusCode: 200)
    await tap.shutdown()
  }

  @Test func `a file that cannot be used is said once, and the app runs without`() async throws {
    let first = try Tap(Self.configuration(folder.path))
    let (_, messages, second) = try await start()
    #expect(
      messages == ["there is no black box \(path): another tap of this process has it: name another file"])
    #expect(second.recorder.blackBox == nil && second.configuration.warnings == messages)
    await first.shutdown()
    #expect(try await start().messages.isEmpty)
    let disk = "/var/tmp/\(UUID().uuidString)"
    let onDisk = Tap.Configuration.test(environment: ["SESSION_TAP_BLACK_BOX": disk]) { $0.endpoint = nil }
    let warnings = try Tap(onDisk).configuration.warnings
    #expect(
      warnings.count == 1 && warnings[0].hasPrefix("there is no black box \(disk): it is not on a tmpfs"))
    #expect(!FileManager.default.fileExists(atPath: disk))
  }

  @Test func `beside a process whose queue is held, and whose main thread is deadlocked, the file has all`()
    async throws
  {
    try ExitValues.give("BlackBoxTests.hung", folder.path)
    async let ended = #expect(processExitsWith: .failure) {
      let folder = try ExitValues.take("BlackBoxTests.hung", String.self)
      let tap = try Tap.start(BlackBoxTests.configuration(folder))
      let (over, session) = (Gate(), tap.session(client: "c", configuration: .ephemeral))
      let origin = try Origin { _ in [.hold(over)] }
      session.dataTask(with: origin.url("/orders/7")) { _, _, _ in }.resume()
      try await Poll.until("a request at the server") { origin.requests.count == 1 }
      let held = Gate()
      let url = QueueHold.url {
        held.open()
        while true { pause() }
      }
      let holder = URLSession(configuration: with(.ephemeral) { $0.protocolClasses = [QueueHold.self] })
      holder.dataTask(with: url) { _, _, _ in }.resume()
      try await held.wait("the queue")
      let served = tap.inbound.begin(method: "GET", path: "/served")
      let lock = Mutex(())
      lock.withLock { _ in while true { pause() } }
      withExtendedLifetime((served, tap)) {}
    }
    let path = path
    let rows = ["/orders/{id} -", "/served handler"]
    // While the process begins, its file may be anything.
    func read() -> (pid: pid_t, rows: [String])? {
      guard case (let content?, true)? = try? BlackBoxFile.read(path: path) else { return nil }
      return (
        content.processID,
        content.requests.map { "\($0.request.urlTemplate ?? $0.request.url) \($0.wait?.rawValue ?? "-")" }
      )
    }
    _ = try? await Poll.until("a process that hangs") { read()?.rows == rows }
    let last = read()
    #expect(last?.rows == rows)
    if let pid = last?.pid { kill(pid, SIGKILL) }
    _ = await ended
  }

  @Test func `a tap that is released gives its file up`() async throws {
    var tap: Tap? = try Tap(Self.configuration(folder.path))
    _ = tap?.inbound.begin(method: "GET", path: "/")
    tap = nil
    // A thread of its own may still have it.
    try await Poll.until("a free file") { try !BlackBoxFile.read(path: path).isInUse }
    #expect(try await start().messages.isEmpty)
  }
}
