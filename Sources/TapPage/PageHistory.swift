package import TapCore

/// What the requests of the last ten minutes came to, as the page reads it.
///
/// ```json
/// {"slot_s": 5, "covered_s": {"made": 432.1, "served": 432.1},
///  "bounds": {"made": [0.005, 0.01], "served": [0.005, 0.01]},
///  "series": [{"side": "made", "labels": "client=\"payments\",http_request_method=\"GET\""}],
///  "slots": [{"age_s": 12.3, "added": [[0, 1.25, 0, 4, 7]]}],
///  "slowest": [{"series": 0, "end_us": 1763717400123456, "duration_s": 0.25, "processing_s": 0.2}],
///  "failed": [{"series": 0, "end_us": 1763717400123456, "duration_s": 0.01, "error.type": "503"}]}
/// ```
///
/// A series has the labels that it has in the exposition. Of a slot there is when it began, and of each
/// series with requests its place in the list, the sum of their durations, and how many are in each bucket,
/// without zeros at the end. A request has keys of the log's lines. When it ended is exact to the
/// microsecond, as in its line: by that the page knows that both are the same request.
package final class PageHistory: Sendable {
  private let recorder: RequestRecorder
  private let answer = SharedAnswer()

  /// - Parameter recorder: One that keeps a history.
  package init(_ recorder: RequestRecorder) { self.recorder = recorder }

  package func json(at now: Instant = .now) -> [UInt8] {
    answer.bytes(at: now) {
      recorder.drain()
      var json = JSON(now: now)
      for (side, direction) in [("made", RequestDirection.outbound), ("served", .inbound)] {
        if let window = recorder.history(of: direction, at: now) { json.add(window, side) }
      }
      return json.text
    }
  }
}

/// The answer, whose lists grow with each direction.
private struct JSON {
  let now: Instant
  private var covered: [String] = []
  private var bounds: [String] = []
  private var places: [String: Int] = [:]
  private var series: [String] = []
  private var slots: [Instant: [String]] = [:]
  private var slowest: [String] = []
  private var failed: [String] = []

  init(now: Instant) { self.now = now }

  var text: String {
    let slots = slots.sorted { $0.key < $1.key }.map { begin, added in
      "{\"age_s\":\(Self.seconds(now.nanoseconds &- begin.nanoseconds)),\"added\":\(JSONText.list(added))}"
    }
    return """
      {"slot_s":\(RequestHistory.Window.slotNanoseconds / 1_000_000_000),\
      "covered_s":{\(covered.joined(separator: ","))},"bounds":{\(bounds.joined(separator: ","))},\
      "series":\(JSONText.list(series)),"slots":\(JSONText.list(slots)),\
      "slowest":\(JSONText.list(slowest)),"failed":\(JSONText.list(failed))}

      """
  }

  mutating func add(_ window: RequestHistory.Window, _ side: String) {
    covered.append("\"\(side)\":\(Self.seconds(window.covered))")
    bounds.append("\"\(side)\":\(JSONText.list(window.bounds.map(\.description)))")
    for slot in window.slots {
      for addition in slot.additions {
        let labels = JSONText.escaped(String(decoding: addition.labels, as: UTF8.self))
        let one = "{\"side\":\"\(side)\",\"labels\":\"\(labels)\"}"
        let place = places[one] ?? series.count
        if place == series.count {
          places[one] = place
          series.append(one)
        }
        let counts = addition.counts.prefix(through: addition.counts.lastIndex { $0 > 0 } ?? 0)
        slots[slot.begin, default: []].append(
          "[\(place),\(addition.sum)\(counts.map { ",\($0)" }.joined())]")
        if let request = addition.slowest { slowest.append(Self.json(request, place)) }
        if let request = addition.newestFailure { failed.append(Self.json(request, place)) }
      }
    }
  }

  private static func json(_ request: RequestHistory.Example, _ place: Int) -> String {
    func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }
    let (microseconds, _) = request.end.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000)
    var text =
      "{\"series\":\(place),\"end_us\":\(microseconds),\"duration_s\":\(seconds(request.nanoseconds))"
    for phase in RequestTimings.Phase.allCases {
      guard let time = request.timings[nanoseconds: phase] else { continue }
      text += ",\"\(phase.rawValue)_s\":\(seconds(time))"
    }
    if let statusCode = request.statusCode { text += ",\"http.response.status_code\":\(statusCode)" }
    if let phase = request.cutOffPhase { text += ",\"cut_off_phase\":\"\(phase.rawValue)\"" }
    if let errorType = request.errorType { text += ",\"error.type\":\"\(JSONText.escaped(errorType))\"" }
    if let trace = request.trace {
      text += ",\"trace_id\":\"\(trace.traceID)\",\"span_id\":\"\(trace.spanID)\""
    }
    return text + "}"
  }

  private static func seconds(_ nanoseconds: Int64) -> String {
    "\(Double(max(0, nanoseconds) / 1_000_000) / 1e3)"
  }
}
