import TapCore

/// The history as the page reads it.
///
/// ```json
/// {"slot_s": 5, "covered_s": 432.1, "bounds": {"outbound": [0.005, 0.01], "inbound": [0.005, 0.01]},
///  "parties": [{"direction": "outbound", "client": "payments", "server_address": "api.example.com", "server_port": "443",
///               "http_request_method": "GET", "url_template": "/users/{id}"}],
///  "slots": [{"age_s": 12.3, "totals": [[0, 1.25, {"503": 1}, 0, 4, 7]]}],
///  "slowest": [{"party": 0, "end_us": 1763717400123456, "duration_s": 0.25, "processing_s": 0.2}],
///  "failed": [{"party": 0, "end_us": 1763717400123456, "duration_s": 0.01, "error.type": "503"}]}
/// ```
///
/// A party has the labels that it has in the metrics. Of a slot there is when it began, and for each party that had requests its
/// place in the list, the sum of their durations, how many failed in which way, and those in each bucket; zeros at the end are left out.
/// A request has keys of the log's lines. When it ended is exact to the microsecond, as in its line: by that the page knows that both
/// are the same request.
extension HistoryWindow {
  func json(at now: Instant) -> [UInt8] {
    let covered = covered(at: now)
    let slots = slots.compactMap { slot -> String? in
      let age = now.nanoseconds &- slot.number * Self.slotNanoseconds
      // Slots are dropped only when a request is added: an idle app may still hold old ones.
      guard age < covered + Self.slotNanoseconds else { return nil }
      return "{\"age_s\":\(Self.seconds(max(0, age))),\"totals\":[\(Self.list(slot.totals.map(\.json)))]}"
    }
    let slowest = slow.indices.flatMap { place in slow[place].map { $0.json(place) } }
    let newest = failed.indices.flatMap { place in failed[place].values.map { $0.json(place) } }
    let text = """
      {"slot_s":\(Self.slotNanoseconds / 1_000_000_000),"covered_s":\(Self.seconds(covered)),\
      "bounds":{"outbound":[\(Self.list(outboundBounds))],"inbound":[\(Self.list(inboundBounds))]},\
      "parties":[\(Self.list(parties.map { $0?.json ?? "{}" }))],\
      "slots":[\(Self.list(slots))],"slowest":[\(Self.list(slowest))],\
      "failed":[\(Self.list(newest))]}

      """
    return Array(text.utf8)
  }

  private static func seconds(_ nanoseconds: Int64) -> String { "\(Double(nanoseconds / 1_000_000) / 1e3)" }

  private static func list(_ elements: [some CustomStringConvertible]) -> String {
    elements.map(\.description).joined(separator: ",")
  }
}

extension HistoryWindow.Totals {
  fileprivate var json: String {
    let failures = failures.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    let counts = counts.prefix(through: counts.lastIndex { $0 > 0 } ?? 0).map { ",\($0)" }.joined()
    return "[\(place),\(sum),{\(failures)}\(counts)]"
  }
}

extension HistoryWindow.Kept {
  fileprivate func json(_ place: Int) -> String {
    func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }
    let (microseconds, _) = end.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000)
    var text =
      "{\"party\":\(place),\"end_us\":\(microseconds),\"duration_s\":\(seconds(nanoseconds))"
    for phase in RequestTimings.Phase.allCases {
      if let time = timings[nanoseconds: phase] { text += ",\"\(phase.rawValue)_s\":\(seconds(time))" }
    }
    if let statusCode { text += ",\"http.response.status_code\":\(statusCode)" }
    if let cutOffPhase { text += ",\"cut_off_phase\":\"\(cutOffPhase.rawValue)\"" }
    if let errorType { text += ",\"error.type\":\"\(HistoryWindow.Party.escaped(errorType))\"" }
    if let trace { text += ",\"trace_id\":\"\(trace.traceID)\",\"span_id\":\"\(trace.spanID)\"" }
    return text + "}"
  }
}

extension HistoryWindow.Party {
  /// The labels. As in the metrics, one without a value is left out.
  fileprivate var json: String {
    let labels = [
      ("direction", direction.rawValue), ("client", client), ("server_address", address),
      ("server_port", port.map(String.init)), ("http_request_method", method),
      (direction == .outbound ? "url_template" : "http_route", template),
      ("otel_metric_overflow", isOther ? "true" : nil),
    ]
    let members = labels.compactMap { name, value in
      value.flatMap { $0.isEmpty ? nil : "\"\(name)\":\"\(Self.escaped($0))\"" }
    }
    return "{\(members.joined(separator: ","))}"
  }

  /// Escapes what RFC 8259, section 7 demands: quotation mark, backslash and the control characters.
  fileprivate static func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { escaped, scalar in
      switch scalar {
      case "\"", "\\": escaped += "\\\(scalar)"
      case ..<" ": escaped += "\\u00\(scalar.value < 16 ? "0" : "")\(String(scalar.value, radix: 16))"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
  }
}
