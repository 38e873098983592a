import SessionTap
import TestSupport

struct TapReading {
  struct Line: Hashable {
    let request: ProgramName
    let client: String
  }

  let exposition: String
  /// How often the log has each request.
  let lines: [Line: Int]

  init(_ tap: Tap) throws {
    exposition = tap.registry.text
    let text = String(decoding: tap.requestLog?.recent() ?? [], as: UTF8.self)
    let ends = try text.split(separator: "\n").map { try jsonObject($0) }.filter {
      $0["event"] as? String == "http.client.request"
    }
    lines = ends.reduce(into: [:]) { lines, end in
      let parts = (end["url.full"] as? String)?.split(separator: "/") ?? []
      let name = parts.first { $0.wholeMatch(of: /r[0-9]+/) != nil }.map { String($0) }
      lines[Line(request: name ?? "?", client: end["client.name"] as? String ?? "?"), default: 0] += 1
    }
  }
}

extension ProgramModel {
  /// Where what the taps tell differs from what they must have counted.
  ///
  /// - Parameter hasLines: Whether every line has been written.
  func findings(_ readings: [ProgramName: TapReading], hasLines: Bool) -> [String] {
    readings.sorted { $0.key < $1.key }.flatMap { tap, reading in
      let observations = observations[tap] ?? []
      let lines = hasLines && taps[tap]?.hasLog == true ? Self.findings(reading.lines, observations) : []
      return (Self.findings(reading.exposition, observations) + lines).map { "\(tap): \($0)" }
    }
  }

  private static func findings(_ exposition: String, _ observations: [Observation]) -> [String] {
    var findings: [String] = []
    func compare(_ what: String, _ seen: Double, _ expected: [ClosedRange<Int>]) {
      let range = expected.reduce(0...0) { $0.lowerBound + $1.lowerBound...$0.upperBound + $1.upperBound }
      if !(Double(range.lowerBound)...Double(range.upperBound)).contains(seen) {
        let wanted = range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
        findings.append("\(what): expected \(wanted), seen \(Int(exactly: seen) ?? -1)")
      }
    }
    for client in ProgramGenerator.clients {
      let (books, own) = (Books(exposition, client: client), observations.filter { $0.client == client })
      compare("started for \"\(client)\"", books.started, own.map(\.started))
      compare("ended for \"\(client)\"", books.ended, own.map(\.ended))
      compare("cancelled for \"\(client)\"", books.cancelled, own.map(\.cancelled))
      let isOpen = own.contains { $0.ended != $0.started || $0.ended.count > 1 }
      compare("active for \"\(client)\"", books.active, isOpen ? own.map { 0...$0.started.upperBound } : [])
    }
    let books = Books(exposition)
    compare("started for all clients", books.started, observations.map(\.started))
    compare("ended for all clients", books.ended, observations.map(\.ended))
    if books.balance != 0 { findings.append("started is not ended + active: \(books)") }
    return findings
  }

  private static func findings(_ lines: [TapReading.Line: Int], _ observations: [Observation]) -> [String] {
    var expected: [TapReading.Line: ClosedRange<Int>] = [:]
    for observation in observations {
      expected[TapReading.Line(request: observation.request, client: observation.client)] = observation.lines
    }
    return Set(lines.keys).union(expected.keys).compactMap { line in
      let (seen, range) = (lines[line] ?? 0, expected[line] ?? 0...0)
      if range.contains(seen) { return nil }
      return "lines of \(line.request) for \"\(line.client)\": expected \(range.upperBound), seen \(seen)"
    }
    .sorted()
  }
}

struct Books {
  let started: Double
  let ended: Double
  let cancelled: Double
  let active: Double

  /// Reads the text format.
  ///
  /// - Parameter client: Whose requests. All clients' by default.
  init(_ exposition: String, client: String? = nil) {
    let label = client.map { "client=\"\($0)\"" } ?? ""
    func sum(_ metric: String) -> Double { ExpositionText.sum(of: metric, with: label, in: exposition) }
    started = sum("session_tap_started_requests_total")
    ended = sum("session_tap_ended_requests_total")
    cancelled = sum("session_tap_cancelled_requests_total")
    active = sum("http_client_active_requests")
  }

  /// 0 if every request that started has ended or is active.
  var balance: Double { started - ended - active }
}
