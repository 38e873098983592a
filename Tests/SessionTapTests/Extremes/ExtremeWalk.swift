import SessionTap
import TestSupport

/// Runs one trial in the current directory, which must be empty: a typed error, or a tap that works. Works
/// means: one request out and two in pass and are recorded, each exposition is well-formed, each line of the
/// log is JSON and accounted for, and the shutdown ends.
struct ExtremeWalk {
  let origin: Origin
  /// Called before each step, for a trap names nothing by itself.
  let willTry: (_ step: Int) -> Void
  let report: (_ fault: String, _ step: Int) -> Void

  func run(_ trial: ExtremeTrial, from first: Int) async {
    var step = first
    willTry(step)
    var setup = ExtremeSetup()
    do {
      try trial.prepare(&setup)
      let tap = try start(&setup)
      if setup.refusal == .always { report("is not refused", step) }
      guard let tap else { return }
      for (index, body) in trial.steps.enumerated().dropFirst(first) {
        step = index
        if step > first { willTry(step) }
        let run = RunningExtreme(tap: tap, origin: origin)
        await judge(step) { try await body.run(run) }
        for fault in Self.faults(of: run.registry) { report(fault, step) }
      }
      await judge(step) { try await use(tap, setup, isWhole: first == 0) }
    } catch  where setup.refusal != .never {
      await judge(step) { throw error }
    } catch {
      report("is refused: \("\(error)".prefix(200))", step)
    }
  }

  private func start(_ setup: inout ExtremeSetup) throws -> Tap? {
    setup.configuration.logging = setup.logging
    setup.configuration.endpoint = setup.endpoint
    return try Tap.start(setup.configuration)
  }

  /// A typed error is what should be.
  private func judge(_ step: Int, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch let error as ExtremeFault {
      report(error.description, step)
    } catch {
      switch error {
      case is TapError, is RegistryError, is EndpointError, is RequestLogError:
        if "\(error)".isEmpty { report("the \(type(of: error)) has no text", step) }
      default: report("not a typed error: \(type(of: error)): \(error)", step)
      }
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
    return (text.utf8.count < 1 << 20 ? ExpositionText(text).faults : [])
      + (wrong.map { ["\($0.prefix(200))"] } ?? [])
  }

  private func use(_ tap: Tap, _ setup: ExtremeSetup, isWhole: Bool) async throws {
    let run = RunningExtreme(tap: tap, origin: origin)
    try await run.request(run.session())
    for method in ["GET", "PROPPATCH"] { tap.inbound.begin(method: method, path: "/in").end(statusCode: 200) }
    let waiting = RequestDescription(client: "c", method: "GET")
    tap.requestLog?.requestWaits(RequestSnapshot(waiting, for: .seconds(60)))
    _ = tap.activeRequests()
    tap.log(.error, "message", ["key": "value"])
    _ = (tap.requestLog?.recent(LogQuery(limit: .max)), tap.requestLog?.recent(LogQuery(limit: .min)))
    // It stays open, so that the shutdown has something to end.
    let idle = try tap.address.map { try RawClient(port: $0.port) }
    var text: String?
    if let address = tap.address {
      let answer = await (try RawClient(port: address.port)).get("/metrics")
      try run.expect(answer.hasPrefix("HTTP/1.1 200 "), "a scrape is answered with \(answer.prefix(30))")
      text = answer.ranges(of: "\r\n\r\n").first.map { String(answer[$0.upperBound...]) }
    }
    var faults = recordFaults(text ?? tap.registry.text, isWhole ? setup.requests : nil)
    await tap.shutdown()
    withExtendedLifetime(idle) {}
    if let log = tap.requestLog { faults += try logFaults(log.statistics, setup) }
    try run.expect(faults.isEmpty, faults.joined(separator: "; "))
  }

  private func recordFaults(_ text: String, _ requests: Int?) -> [String] {
    let metrics = ExpositionText(text)
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

  private func logFaults(_ statistics: LogStatistics, _ setup: ExtremeSetup) throws -> [String] {
    var faults: [String] = []
    let filtered = statistics.filteredLines
    let accounted = statistics.lines + statistics.droppedLines + filtered
    if accounted < UInt64(setup.requests ?? 0) + 4 { faults.append("\(accounted) lines are accounted for") }
    if statistics.pending > 0 { faults.append("\(statistics.pending) lines are pending") }
    if setup.refusal == .never, statistics.lines == 0 || statistics.writeErrors > 0 {
      faults.append("\(statistics.lines) lines are written, with \(statistics.writeErrors) errors")
    }
    guard setup.configuration.log != nil, !setup.logFile.isEmpty else { return faults }
    var lines: UInt64 = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: ".") where name.hasPrefix(setup.logFile) {
      // The log may have been told to make a file that cannot be read.
      chmod(name, 0o600)
      // A rotated file may be compressed, as a part first, and removed meanwhile.
      guard !name.contains(".gz"), let bytes = FileManager.default.contents(atPath: name) else { continue }
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        lines += 1
        let isObject = (try? JSONSerialization.jsonObject(with: line)) is [String: Any]
        if !isObject { faults.append("no JSON: \(String(decoding: line.prefix(200), as: UTF8.self))") }
      }
    }
    if setup.keepsLines ? lines != statistics.lines : lines > statistics.lines {
      faults.append("\(lines) lines are there of \(statistics.lines)")
    }
    return faults
  }
}
