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
/// series with requests its index in the list, the sum of their durations, and how many are in each bucket,
/// without zeros at the end. A request has keys of the log's lines. When it ended is exact to the
/// microsecond, as in its line: by that the page knows that both are the same request.
package final class PageHistory: Sendable {
  private let recorder: RequestRecorder
  private let answers = PageAnswers()

  package init(_ recorder: RequestRecorder) { self.recorder = recorder }

  package func json(at now: Instant = .now) -> [UInt8] {
    answers.bytes(at: now) {
      recorder.drain()
      var lists = HistoryLists()
      for (side, direction) in [("made", RequestDirection.outbound), ("served", .inbound)] {
        if let window = recorder.history(of: direction, at: now) { lists.add(window, side) }
      }
      return "\(lists.json(at: now))\n"
    }
  }
}

/// The lists of the answer, which grow with each direction.
private struct HistoryLists {
  private var covered: [(String, JSON?)] = []
  private var bounds: [(String, JSON?)] = []
  /// The series in the order of the list, and the index of each.
  private var series: [JSON] = []
  private var indices: [String: Int] = [:]
  private var slots: [Instant: [JSON]] = [:]
  private var slowest: [JSON] = []
  private var failed: [JSON] = []

  func json(at now: Instant) -> JSON {
    let slots = slots.sorted { $0.key < $1.key }.map { begin, added in
      JSON.object([("age_s", .time(begin.duration(to: now))), ("added", .list(added))])
    }
    return .object([
      ("slot_s", .number(RequestHistory.Window.slotNanoseconds / 1_000_000_000)),
      ("covered_s", .object(covered)), ("bounds", .object(bounds)), ("series", .list(series)),
      ("slots", .list(slots)), ("slowest", .list(slowest)), ("failed", .list(failed)),
    ])
  }

  mutating func add(_ window: RequestHistory.Window, _ side: String) {
    covered.append((side, .time(.nanoseconds(window.covered))))
    bounds.append((side, .list(window.bounds)))
    for slot in window.slots {
      for addition in slot.additions {
        let labels = String(decoding: addition.labels, as: UTF8.self)
        let one = JSON.object([("side", .text(side)), ("labels", .text(labels))])
        let index = indices[one.description, default: series.count]
        if index == series.count {
          indices[one.description] = index
          series.append(one)
        }
        let counts = addition.counts.prefix(through: addition.counts.lastIndex { $0 > 0 } ?? 0)
        let numbers = ["\(index)", "\(addition.sum)"] + counts.map(\.description)
        slots[slot.begin, default: []].append(.list(numbers))
        if let request = addition.slowest { slowest.append(Self.json(request, index)) }
        if let request = addition.newestFailure { failed.append(Self.json(request, index)) }
      }
    }
  }

  private static func json(_ request: RequestHistory.Example, _ series: Int) -> JSON {
    func seconds(_ nanoseconds: Int64?) -> JSON? { .number(nanoseconds.map { Double($0) / 1e9 }) }
    let phases = RequestTimings.Phase.allCases.map {
      ("\($0.rawValue)_s", seconds(request.timings[nanoseconds: $0]))
    }
    let times = [
      ("series", .number(series)), ("end_us", .time(request.end)),
      ("duration_s", seconds(request.nanoseconds)),
    ]
    return .object(
      times + phases + [
        ("http.response.status_code", .number(request.statusCode)),
        ("cut_off_phase", .text(request.cutOffPhase?.rawValue)), ("error.type", .text(request.errorType)),
        ("trace_id", .text(request.trace?.traceID)), ("span_id", .text(request.trace?.spanID)),
      ])
  }
}
