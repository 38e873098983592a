import SessionTap
import TestSupport

/// Runs trials, each in an empty directory: a typed error, or a tap that works. Works means: one request out
/// and two in pass and are recorded, each exposition is well-formed, each line of the log is JSON and
/// accounted for, and the shutdown ends.
struct ExtremeWalk {
  /// For what hangs: no trial takes seconds, but the machine may be busy.
  private static let secondsPerStep: UInt32 = 240

  private let origin: Origin
  private let trial: ExtremeTrial

  /// Runs all trials in this process, which writes each step to a file before it is taken, and on its
  /// standard error why it ended there.
  static func run(in path: String) async throws {
    dup2(open(path + "/step", O_CREAT | O_WRONLY | O_APPEND, 0o600), 2)
    let origin = try RunningExtreme.makeOrigin()
    for (number, trial) in ExtremeTrial.all.enumerated() {
      let folder = "\(path)/\(number)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      guard chdir(folder) == 0 else { throw POSIXError(.ENOENT) }
      await ExtremeWalk(origin: origin, trial: trial).run()
    }
    origin.stop()
  }

  private func run() async {
    var value = trial.steps[0].value
    begin(value)
    var setup = ExtremeSetup()
    do {
      try trial.prepare(&setup)
      let tap = try Tap.start(setup.configuration)
      for step in trial.steps {
        value = step.value
        begin(value)
        let run = RunningExtreme(tap: tap, origin: origin)
        await judge(value) { try await step.run(run) }
        for fault in Self.faults(of: run.registry) { report(fault, value) }
      }
      await judge(value) { try await use(tap, setup) }
    } catch {
      if !setup.mayRefuse { report("is refused: \("\(error)".prefix(200))", value) }
      await judge(value) { throw error }
    }
  }

  private func begin(_ value: String) {
    ftruncate(2, 0)
    FileHandle.standardError.write(Data("\(trial.setting) = \(value)\n".utf8))
    alarm(Self.secondsPerStep)
  }

  private func report(_ fault: String, _ value: String) {
    Issue.record("\(trial.setting) = \(value): \(fault.prefix(500))")
  }

  /// A typed error is what should be.
  private func judge(_ value: String, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch let fault as TestFailure {
      report(fault.description, value)
    } catch {
      let isTyped =
        error is TapError || error is RegistryError || error is EndpointError || error is RequestLogError
      if !isTyped || "\(error)".isEmpty { report("not a typed error: \(type(of: error)): \(error)", value) }
    }
  }

  /// What is wrong with what a registry exposes. Only gauges named `jobs`, and what a collector says, may be
  /// no number.
  static func faults(of registry: Registry) -> [String] {
    let text = registry.exposition(in: .text).body
    if text.isEmpty { return [] }
    for format in ExpositionFormat.allCases where format != .text { _ = registry.exposition(in: format) }
    guard let text = String(validating: text, as: UTF8.self) else { return ["the exposition is not UTF-8"] }
    let wrong = text.split(separator: "\n").first {
      $0.hasSuffix(" NaN") && !["#", "jobs{", "jobs ", "collected"].contains(where: $0.hasPrefix)
    }
    // A debug build reads a megabyte a second.
    return (text.utf8.count < 1 << 20 ? ExpositionFaults(text).all : [])
      + (wrong.map { ["\($0.prefix(200))"] } ?? [])
  }

  private func use(_ tap: Tap, _ setup: ExtremeSetup) async throws {
    let run = RunningExtreme(tap: tap, origin: origin)
    try await run.request(run.session())
    for method in ["GET", "PROPPATCH"] { tap.inbound.begin(method: method, path: "/in").end(statusCode: 200) }
    let waiting = RequestDescription(client: "c", method: "GET")
    tap.requestLog?.requestWaits(RequestSnapshot(waiting, for: .seconds(60)))
    _ = tap.activeRequests()
    tap.log(.error, "message", ["key": "value"])
    for limit in [Int.max, .min] { _ = tap.requestLog?.recentLines(LogQuery(limit: limit)) }
    // It stays open, so that the shutdown has something to end.
    let idle = try tap.address.map { try RawClient(port: $0.port) }
    var text = tap.registry.text
    if tap.address != nil {
      let answer = try await tap.get("/metrics")
      try run.expect(answer.hasPrefix("HTTP/1.1 200 "), "a scrape is answered with \(answer.prefix(30))")
      text = String(try RawClient.body(of: answer))
    }
    await tap.shutdown()
    withExtendedLifetime(idle) {}
    let faults = recordFaults(text, setup.requests) + logFaults(tap.requestLog, setup)
    try run.expect(faults.isEmpty, faults.joined(separator: "; "))
  }

  private func recordFaults(_ text: String, _ requests: Int?) -> [String] {
    let names = [
      "session_tap_started_requests_total", "session_tap_ended_requests_total", "http_client_active_requests",
      "http_client_request_duration_seconds_count", "session_tap_inbound_ended_requests_total",
      "http_server_request_duration_seconds_count",
    ]
    let counts = names.map { ExpositionText.sum(of: $0, in: text) }
    let isBalanced = counts[0] == counts[1] && counts[2] == 0 && counts[4] >= 2
    let isWhole = counts[1] == counts[3] && counts[4] == counts[5]
    let isExpected = requests.map { isWhole && counts[1] == Double($0) } ?? true
    return ExpositionFaults(text).all
      + (isBalanced && isExpected ? [] : ["\(zip(names, counts).map { "\($0) \($1)" })"])
  }

  private func logFaults(_ log: RequestLog?, _ setup: ExtremeSetup) -> [String] {
    guard let statistics = log?.statistics else { return [] }
    var faults: [String] = []
    let accounted = statistics.lines + statistics.droppedLines + statistics.filteredLines
    if accounted < UInt64(setup.requests ?? 0) + 4 { faults.append("\(accounted) lines are accounted for") }
    if statistics.pending > 0 { faults.append("\(statistics.pending) lines are pending") }
    // A shutdown without time may drop all of them.
    let hasTime = setup.configuration.shutdownTimeout >= .seconds(1)
    if !setup.mayRefuse, hasTime && statistics.lines == 0 || statistics.writeErrors > 0 {
      faults.append("\(statistics.lines) lines are written, with \(statistics.writeErrors) errors")
    }
    let written = FileManager.default.contents(atPath: ExtremeSetup.logFile) ?? Data()
    let wrong = written.split(separator: UInt8(ascii: "\n")).filter {
      !((try? JSONSerialization.jsonObject(with: $0)) is JSONMembers)
    }
    return faults + wrong.prefix(9).map { "no JSON: \(String(decoding: $0.prefix(200), as: UTF8.self))" }
  }
}

/// What a step of a trial may use while its tap runs.
struct RunningExtreme: Sendable {
  let tap: Tap
  let origin: Origin
  /// New for each step. What is registered there must be well-formed in the end.
  let registry = Registry()

  func expect(_ isTrue: Bool, _ fault: @autoclosure () -> String) throws {
    if !isTrue { throw TestFailure(fault()) }
  }

  /// Makes a request in a session of the tap's, which must get its whole answer.
  func request(_ session: URLSession, context: TapRequestContext? = nil) async throws {
    var request = URLRequest(url: origin.url("/users/42;v=1?card=4242"))
    // Longer than a word: known methods are looked up by their bytes.
    request.httpMethod = "PROPPATCH"
    request.tapContext = context
    let (body, _) = try await session.data(for: request)
    try expect(body == Data(Self.body), "the request got \(body.count) bytes")
    session.finishTasksAndInvalidate()
  }

  func session(client: String = "extreme") -> URLSession {
    URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: client))
  }

  /// Runs an endpoint of its own, if it starts: it answers each request, and closes an idle connection.
  func serve(
    _ address: EndpointAddress = .loopback(port: 0), within time: Duration = .seconds(60),
    _ change: (inout Endpoint.Configuration) -> Void = { _ in }
  ) async throws {
    let configuration = with(Endpoint.Configuration(address: address), change)
    let endpoint = Endpoint(configuration: configuration, routes: [.liveness()])
    let port = try endpoint.start().port
    let requests = [
      "GET /healthz HTTP/1.1\r\n", "POST / HTTP/1.1\r\nContent-Length: \(Int.max)\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
    ]
    for request in requests {
      let body = request.contains("chunked") ? "7fffffffffffffff\r\nx" : request.contains("POST") ? "x" : ""
      let answer = await (try RawClient(port: port)).exchange("\(request)Host: localhost\r\n\r\n\(body)")
      try expect(answer.hasPrefix("HTTP/1.1 "), "\(request.prefix(50)) is answered with \(answer.prefix(50))")
    }
    let idle = try RawClient(port: port)
    await endpoint.shutdown(within: time)
    let rest = await idle.receiveAll().text
    try expect(rest.isEmpty, "a connection without a request got \(rest)")
  }

  /// Records an observation, and writes it to the log in both directions.
  func record(_ change: (inout RequestObservation) -> Void) throws {
    let request = RequestDescription(client: "other", method: "GET", url: "http://h/")
    let observation = with(
      RequestObservation(
        request: request, start: .now, duration: .seconds(1), end: .response(statusCode: 200)), change)
    let metrics = try RequestDriver(registry: registry)
    metrics.record(observation.request) { $0 = observation }
    for direction in RequestDirection.allCases {
      tap.requestLog?.requestEnded(with(observation) { $0.request.direction = direction })
    }
    let recorded = registry.value(of: "http_client_request_duration_seconds_count")
    try expect(recorded == 1, "the observation is recorded \(recorded ?? 0) times")
  }

  private static let body = [UInt8](repeating: UInt8(ascii: "b"), count: 100)

  /// Serves the requests of every trial, and plays the Pushgateway.
  static func makeOrigin() throws -> Origin {
    try Origin(keepsRequests: false) { request in
      if request.method == "PUT" { return [.response(), .close] }
      return [.response("200 OK", headers: [("X-Served-By", "a7")], body: body)]
    }
  }
}
