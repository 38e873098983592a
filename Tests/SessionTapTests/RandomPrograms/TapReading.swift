import SessionTap
import TestSupport

/// What a tap has counted, and the lines that it has written.
struct TapReading {
  let exposition: String
  /// How often the log has each request.
  let lines: [String: Int]

  init(_ tap: Tap) throws {
    exposition = tap.registry.text
    let ends = try tap.logLines.filter { $0.row("event") == "http.client.request" }
    lines = ends.reduce(into: [:]) { lines, end in
      let name =
        end.row("url.full").split(separator: "/").first { $0.wholeMatch(of: /r[0-9]+/) != nil } ?? "?"
      lines["\(name) for \(end.row("client.name"))", default: 0] += 1
    }
  }

  /// Why not every request that started has ended or is active, `nil` if it is so.
  static func imbalance(of exposition: String) -> String? {
    let counts = ProgramModel.counters.map { ExpositionText.sum(of: $0.metric, in: exposition) }
    return counts[0] == counts[1] + counts[3]
      ? nil : "started \(counts[0]) is not ended \(counts[1]) + active \(counts[3])"
  }
}

extension ProgramModel {
  /// The counters of requests, with what each request adds.
  static let counters: [(metric: String, count: @Sendable (Observation) -> ClosedRange<Int>)] = [
    ("session_tap_started_requests_total", { $0.started }),
    ("session_tap_ended_requests_total", { $0.ended }),
    ("session_tap_cancelled_requests_total", { $0.cancelled }),
    ("http_client_active_requests", { $0.active }),
  ]

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
    var findings = [TapReading.imbalance(of: exposition)].compactMap { $0 }
    for client in ProgramGenerator.clients + [""] {
      let own = observations.filter { client.isEmpty || $0.client == client }
      let label = client.isEmpty ? "" : "client=\"\(client)\""
      for (metric, count) in counters {
        let seen = ExpositionText.sum(of: metric, with: label, in: exposition)
        let counts = own.map(count)
        let least = counts.reduce(0) { $0 + $1.lowerBound }
        let most = counts.reduce(0) { $0 + $1.upperBound }
        if seen < Double(least) || seen > Double(most) {
          findings.append("\(metric){\(label)}: expected \(least) to \(most), seen \(seen)")
        }
      }
    }
    return findings
  }

  private static func findings(_ lines: [String: Int], _ observations: [Observation]) -> [String] {
    let expected = observations.map { ("\($0.request) for \($0.client)", $0.ended) }
    let ranges = Dictionary(expected) { $1 }
    return Set(lines.keys).union(ranges.keys).sorted().compactMap { line in
      let (seen, range) = (lines[line] ?? 0, ranges[line] ?? 0...0)
      return range.contains(seen) ? nil : "lines of \(line): expected \(range), seen \(seen)"
    }
  }
}
