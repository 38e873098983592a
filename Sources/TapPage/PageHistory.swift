import TapCore

/// What the requests of the last ten minutes came to, as the page reads it: all, or the slots since the one
/// that was the current one when it asked last.
///
/// ```json
/// {"id": "861723004511000", "slot": 172344601, "slot_s": 5, "slot_age_s": 2.3,
///  "covered_s": {"made": 432.1, "served": 432.1},
///  "bounds": {"made": [0.005, 0.01], "served": [0.005, 0.01]},
///  "series": [{"side": "made", "labels": "client=\"payments\",http_request_method=\"GET\""}],
///  "slots": [{"slot": 172344599,
///   "added": [{"series": 0, "sum_s": 1.25, "counts": [0, 4, 7], "processing_s": 1.1, "opened": 1}],
///   "upstream": [{"route": "/cart", "upstream_s": 1.2, "clients": [["payments", 7, 1.1]]}]}],
///  "slowest": [{"series": 0, "end_us": 1763717400123456, "duration_s": 0.25, "processing_s": 0.2}],
///  "failed": [{"series": 0, "end_us": 1763717400123456, "duration_s": 0.01, "error.type": "503"}]}
/// ```
///
/// `id` is that of the process's history. A series has the labels that it has in the exposition. Of a slot
/// there is its number, and of each series with requests the sums of their durations and phases, and how
/// many are in each bucket, without zeros at the end. Of a route there is the time in which its requests
/// waited for their calls, and the calls of each client and their time: of its answered requests, and of its
/// others. A request has keys of the log's lines. When it ended is exact to the microsecond, as in its line:
/// by that the page knows that both are the same request.
final class PageHistory: Sendable {
  private let recorder: RequestRecorder
  private let answers = PageAnswers()
  private let id = "\(Instant.now.nanoseconds)"

  init(_ recorder: RequestRecorder) { self.recorder = recorder }

  func json(since slot: Int64 = 0, at now: Instant = .now) -> [UInt8] {
    answers.bytes(for: "\(slot)", at: now) {
      recorder.drain()
      var lists = HistoryLists(id: id, since: slot)
      for (side, direction) in [("made", RequestDirection.outbound), ("served", .inbound)] {
        if let window = recorder.history(of: direction, at: now) { lists.add(window, side) }
      }
      return "\(lists.json(at: now))\n"
    }
  }
}

/// The lists of the answer, which grow with each direction.
private struct HistoryLists {
  private let id: String
  private let since: Int64
  private var covered: [(String, JSON?)] = []
  private var bounds: [(String, JSON?)] = []
  /// The series in the order of the list, and the index of each.
  private var series: [JSON] = []
  private var indices: [String: Int] = [:]
  private var slots: [Int64: (added: [JSON], upstream: [JSON])] = [:]
  private var slowest: [JSON] = []
  private var failed: [JSON] = []

  init(id: String, since: Int64) { (self.id, self.since) = (id, since) }

  func json(at now: Instant) -> JSON {
    let slots = slots.sorted { $0.key < $1.key }.map { number, slot in
      JSON.object([
        ("slot", .number(number)), ("added", .list(slot.added)),
        ("upstream", slot.upstream.isEmpty ? nil : .list(slot.upstream)),
      ])
    }
    let (slot, width) = (RequestHistory.slot(at: now), RequestHistory.slotNanoseconds)
    return .object([
      ("id", .text(id)), ("slot", .number(slot)),
      ("slot_s", .number(width / 1_000_000_000)),
      ("slot_age_s", .time(.nanoseconds(now.nanoseconds - slot * width))),
      ("covered_s", .object(covered)), ("bounds", .object(bounds)), ("series", .list(series)),
      ("slots", .list(slots)), ("slowest", .list(slowest)), ("failed", .list(failed)),
    ])
  }

  mutating func add(_ window: RequestHistory.Window, _ side: String) {
    covered.append((side, .time(.nanoseconds(window.covered))))
    bounds.append((side, .list(window.bounds)))
    for slot in window.slots where slot.number >= since && !slot.upstream.isEmpty {
      slots[slot.number, default: ([], [])].upstream = slot.upstream.map { Self.json($0, $1) }
    }
    for slot in window.slots {
      for addition in slot.additions {
        let labels = String(decoding: addition.labels, as: UTF8.self)
        let one = JSON.object([("side", .text(side)), ("labels", .text(labels))])
        let index = indices[one.description, default: series.count]
        if index == series.count {
          indices[one.description] = index
          series.append(one)
        }
        if slot.number >= since {
          slots[slot.number, default: ([], [])].added.append(Self.json(addition, index))
        }
        if let request = addition.slowest { slowest.append(Self.json(request, index)) }
        if let request = addition.newestFailure { failed.append(Self.json(request, index)) }
      }
    }
  }

  private static func json(_ addition: RequestHistory.Addition, _ series: Int) -> JSON {
    let counts = addition.counts.prefix(through: addition.counts.lastIndex { $0 > 0 } ?? 0)
    let account = addition.account
    return .object(
      [("series", .number(series)), ("sum_s", .number(addition.sum)), ("counts", .list(Array(counts)))]
        + phases(account.timings) + [
          ("opened", .number(account.openedConnections)),
          ("round_trips", .number(account.roundTripCount == 0 ? nil : account.roundTripCount)),
          ("round_trips_s", account.roundTripCount == 0 ? nil : seconds(account.roundTripNanoseconds)),
          ("sent_again", .number(account.retransmittedSegments)),
        ])
  }

  private static func json(_ route: RequestHistory.Route, _ time: UpstreamTime) -> JSON {
    let clients = time.clients.map { client in
      let name = JSON.text(client.name)?.description ?? ""
      return JSON.list([name, "\(client.requestCount)", "\(client.duration.seconds)"])
    }
    return .object([
      ("route", .text(route.path ?? "")), ("upstream_s", .number(time.duration.seconds)),
      ("clients", .list(clients)),
    ])
  }

  private static func seconds(_ nanoseconds: Int64?) -> JSON? {
    .number(nanoseconds.map { Double($0) / 1e9 })
  }

  private static func phases(_ timings: RequestTimings) -> [(key: String, value: JSON?)] {
    RequestTimings.Phase.allCases.map { ("\($0.rawValue)_s", seconds(timings[nanoseconds: $0])) }
  }

  private static func json(_ request: RequestHistory.Example, _ series: Int) -> JSON {
    let upstream = request.upstream?.nanoseconds
    let times = [
      ("series", .number(series)), ("end_us", .time(request.end)),
      ("duration_s", seconds(request.nanoseconds)), ("upstream_s", seconds(upstream)),
      ("own_s", seconds(upstream.map { max(0, request.nanoseconds - $0) })),
      ("upstream_requests", JSON.number(request.upstream?.requestCount)),
    ]
    return .object(
      times + phases(request.timings) + [
        ("http.response.status_code", .number(request.statusCode)),
        ("cut_off_phase", .text(request.cutOffPhase?.rawValue)), ("error.type", .text(request.errorType)),
        ("trace_id", .text(request.trace?.traceID)), ("span_id", .text(request.trace?.spanID)),
      ])
  }
}
