import Foundation
import SessionTap
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A tap from its start to its shutdown: one request out, two in, one scrape. What an ``Extreme`` changes of it must
/// end in a typed error, or in a tap that works.
struct ExtremeTrial: Sendable {
  /// What a trial may use while its tap runs.
  struct Running: Sendable {
    let tap: Tap
    let origin: Origin

    /// Makes a request in a session. The trial must expect it in ``ExtremeTrial/requests``.
    func request(_ session: URLSession) async throws {
      _ = try await session.data(from: origin.url("/again"))
      session.finishTasksAndInvalidate()
    }
  }

  var configuration = Tap.Configuration()
  var client = "extreme"
  var context: TapRequestContext?
  var whileRunning: @Sendable (Running) async throws -> Void = { _ in }
  /// How many requests the metrics must show, or `nil` where that is what the trial changes.
  var requests: Int? = 1
  /// The status of the scrape.
  var scrapeStatus = 200
  /// Further paths to ask for, whatever they answer.
  var paths: [String] = []
  /// The log's file, in the current directory.
  var logFile = "requests.jsonl"
  /// Whether every line that was written must be there at the end: not where the log itself removes files.
  var keepsLines = true

  /// The longest that a shutdown may take: its deadlines are for what hangs, and nothing does.
  private static let shutdownLimit = Duration.seconds(20)

  init() {
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.log = .file(logFile)
    // Where the log's destination fails, the shutdown tries until its deadline.
    configuration.shutdownDeadline = .seconds(1)
  }

  /// Runs the trial in the current directory, which must be empty.
  ///
  /// - Returns: What is wrong: nothing, as a rule.
  static func run(_ extreme: Extreme, _ origin: Origin) async -> [String] {
    var trial = ExtremeTrial()
    do {
      try extreme.apply(&trial)
      return try await trial.run(origin)
    } catch {
      return faults(of: error)
    }
  }

  private func run(_ origin: Origin) async throws -> [String] {
    let tap = try Tap.start(configuration)
    var faults: [String] = []
    do {
      let session = URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: client))
      var request = URLRequest(url: origin.url("/users/42;v=1?card=4242"))
      // Longer than a word: known methods are looked up by their bytes.
      request.httpMethod = "PROPPATCH"
      request.tapContext = context
      let (body, _) = try await session.data(for: request)
      if body != Data(Self.body) { faults.append("the request got \(body.count) bytes") }
      session.finishTasksAndInvalidate()
    } catch {
      faults.append("the request failed: \(error)")
    }
    for method in ["GET", "PROPPATCH"] { tap.inbound.begin(method: method, path: "/in").end(statusCode: 200) }
    do {
      try await whileRunning(Running(tap: tap, origin: origin))
    } catch {
      faults += Self.faults(of: error)
    }
    // Its connection stays open, so that the shutdown has something to wait for.
    let scraper = URLSession(configuration: .ephemeral)
    defer { scraper.finishTasksAndInvalidate() }
    faults += await scrape(tap, scraper)
    let time = await ContinuousClock().measure { await tap.shutdown() }
    if time > Self.shutdownLimit { faults.append("the shutdown took \(time)") }
    if let log = tap.requestLog { faults += try logFaults(log.statistics) }
    return faults
  }

  // MARK: - Origin

  private static let body = [UInt8](repeating: UInt8(ascii: "b"), count: 100)

  /// Serves the requests of every trial, and plays the Pushgateway.
  static func makeOrigin() throws -> Origin {
    try Origin(keepsRequests: false) { request in
      if request.method == "PUT" { return [.response(), .close] }
      if request.path == "/challenge" {
        return [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")])]
      }
      return [.response("200 OK", headers: [("X-Served-By", "a7")], body: body)]
    }
  }

  // MARK: - Judging

  /// A typed error is what should be.
  private static func faults(of error: any Error) -> [String] {
    switch error {
    case is TapError, is RegistryError, is EndpointError, is PushError, is RequestLogError,
      is InvalidLogQuery:
      return "\(error)".isEmpty ? ["the \(type(of: error)) has no text"] : []
    default: return ["not a typed error: \(type(of: error)): \(error)"]
    }
  }

  private func scrape(_ tap: Tap, _ session: URLSession) async -> [String] {
    guard let address = tap.address else { return [] }
    // What listens at a Unix socket is out of URLSession's reach.
    guard address.port != nil else { return bookFaults(tap.registry.exposition(in: .text).text) }
    var faults: [String] = []
    for path in paths {
      guard let url = URL(string: "http://\(address)\(path)") else { continue }
      // An answer that is none may be what the trial is about.
      _ = try? await session.data(from: url)
    }
    guard let url = URL(string: "http://\(address)/metrics") else { return ["no address: \(address)"] }
    do {
      let (data, response) = try await session.data(from: url)
      let status = (response as? HTTPURLResponse)?.statusCode
      if status != scrapeStatus { faults.append("the scrape is answered with \(status ?? 0)") }
      // Where the scraper is refused, the metrics are there all the same.
      let isServed = status == 200
      let text = isServed ? String(data: data, encoding: .utf8) : tap.registry.exposition(in: .text).text
      faults += text.map(bookFaults) ?? ["the scrape is not UTF-8"]
    } catch {
      faults.append("the scrape failed: \(error)")
    }
    return faults
  }

  private func bookFaults(_ exposition: String) -> [String] {
    let metrics = ExpositionText(exposition)
    var faults = metrics.faults
    let started = metrics["session_tap_started_requests_total"]
    let ended = metrics["session_tap_ended_requests_total"]
    let active = metrics["http_client_active_requests"]
    let recorded = metrics["http_client_request_duration_seconds_count"]
    let inbound = metrics["session_tap_inbound_ended_requests_total"]
    if started != ended || active != 0 || inbound < 2 {
      faults.append("started \(started), ended \(ended), active \(active), inbound ended \(inbound)")
    }
    guard let requests else { return faults }
    if ended != Double(requests) || recorded != ended {
      faults.append("of \(requests) requests \(ended) ended, and \(recorded) are recorded")
    }
    if metrics["http_server_request_duration_seconds_count"] != inbound {
      faults.append("of \(inbound) inbound requests not all are recorded")
    }
    return faults
  }

  private func logFaults(_ statistics: LogStatistics) throws -> [String] {
    var faults: [String] = []
    let filtered = LogFilterReason.allCases.map(statistics.filteredLines).reduce(0, +)
    let accounted = statistics.lines + statistics.droppedLines + filtered
    if accounted < UInt64(requests ?? 0) + 2 { faults.append("\(accounted) lines are accounted for") }
    if statistics.pending > 0 { faults.append("\(statistics.pending) lines are pending") }
    guard configuration.log != nil, !logFile.isEmpty else { return faults }
    var lines: UInt64 = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: ".") where name.hasPrefix(logFile) {
      // The log may have been told to make a file that cannot be read.
      chmod(name, 0o600)
      // A rotated file may be compressed and removed meanwhile.
      guard !name.hasSuffix(".gz"), let bytes = try? Data(contentsOf: URL(fileURLWithPath: name)) else {
        continue
      }
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        lines += 1
        let isObject = (try? JSONSerialization.jsonObject(with: line)) is [String: Any]
        if !isObject { faults.append("no JSON: \(String(decoding: line.prefix(200), as: UTF8.self))") }
      }
    }
    if keepsLines ? lines != statistics.lines : lines > statistics.lines {
      faults.append("\(lines) lines are there of \(statistics.lines)")
    }
    return faults
  }
}
