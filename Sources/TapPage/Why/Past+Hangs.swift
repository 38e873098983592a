import TapCore

extension Past {
  /// A request hangs before its limit if it has been active for so many times as long as the longest of its
  /// kind.
  private static let times = 3.0

  /// The queue of all URLSessions.
  var held: [Finding] {
    guard evidence.held != nil || evidence.unstarted > 0 else { return [] }
    let unstarted = evidence.active.filter { $0.wait == .start }
    let clients = Set(
      (unstarted.isEmpty ? evidence.active.filter(\.kind.isMade) : unstarted).map(\.kind.client))
    let age = evidence.held?.duration.seconds ?? unstarted.map(\.age).max() ?? 0
    let since = evidence.time(of: Instant(nanoseconds: evidence.now.nanoseconds &- Int64(age * 1e9)))
    let cause =
      evidence.held?.lacksThreads == true
      ? "Dispatch has no thread left, because blocks that do not return have all of them"
      : "something holds the queue of all sessions, such as a delegate or a body stream that does not return"
    let named = clients.sorted().prefix(3).map(Words.client).joined(separator: ", ")
    let what =
      unstarted.isEmpty
      ? "starts no request" + (named.isEmpty ? "" : ", and those of \(named) do not go on,")
      : "has not started \(Words.count(evidence.unstarted, "request")) of \(named)"
    return [
      Finding(
        kind: .held,
        sentence: "URLSession \(what) since \(Words.time(since)) (\(Words.age(age))): \(cause).",
        client: clients.count == 1 ? clients.first : nil,
        figures: [("seconds", age), ("unstarted", Double(evidence.unstarted))], since: since,
        last: evidence.time, queries: ["session_tap_queue_held_seconds", "session_tap_unstarted_requests"],
        runbook: "sessiontapqueueheld")
    ]
  }

  /// Requests that are active for too long while nothing passes. Those that wait for a connection which the
  /// others have are told with them.
  var hangs: [Finding] {
    struct Group: Hashable { let kind: RequestKind, wait: RequestWait? }
    let indices = evidence.active.indices.filter { index in
      let request = evidence.active[index]
      // Those that wait for another one are told with it, and those of a held queue with that.
      return hangs(request) && request.wait != .request && request.wait != .start
        && !(request.wait == nil && evidence.held != nil)
    }
    let groups = Dictionary(grouping: indices) {
      Group(kind: evidence.active[$0].kind, wait: evidence.active[$0].wait)
    }
    func isBehind(_ group: Group) -> Bool {
      group.wait == .queue
        && groups.keys.contains {
          $0.wait != .queue && $0.kind.client == group.kind.client && $0.kind.server == group.kind.server
        }
    }
    return groups.filter { !isBehind($0.key) }.sorted { $0.key.kind.name < $1.key.kind.name }.map {
      group, requests in
      let behind = groups.filter {
        isBehind($0.key) && $0.key.kind.client == group.kind.client && $0.key.kind.server == group.kind.server
      }
      return hang(of: group.kind, requests, behind: behind.values.reduce(0) { $0 + $1.count })
    }
  }

  /// Whether nothing happens with a request, for too long.
  func hangs(_ request: Evidence.Active) -> Bool {
    if request.wait == .request { return request.causes.contains { hangs(evidence.active[$0]) } }
    if request.wait == .start { return true }
    let isLate = request.age >= request.limit
    // Something has passed, or may have: it takes long, and does not hang.
    guard let idle = request.idle else {
      return request.wait?.movesData != true && (isLate || isUnusual(request))
    }
    return isLate ? idle >= request.limit : idle >= Evidence.ageLimit.seconds && isUnusual(request)
  }

  private func isUnusual(_ request: Evidence.Active) -> Bool {
    let usual = newest(request.kind).reduce(Tally(), +)
    return usual.answered >= Self.enough && request.age > Self.times * usual.longest
  }

  private func hang(of kind: RequestKind, _ indices: [Int], behind: Int) -> Finding {
    let requests = indices.map { evidence.active[$0] }
    let oldest = requests.max { $0.age < $1.age }
    let (age, usual) = (oldest?.age ?? 0, newest(kind).reduce(Tally(), +))
    let since = evidence.time(of: Instant(nanoseconds: evidence.now.nanoseconds &- Int64(age * 1e9)))
    let effects = evidence.active.filter { !$0.causes.allSatisfy { !indices.contains($0) } }
    let routes = Set(effects.map(\.kind.name)).sorted()
    var sentence =
      "\(requests.count) \(kind.requests(requests.count)) \(requests.count == 1 ? "waits" : "wait") "
      + "\(Words.wait(oldest?.wait).what), the oldest since \(Words.time(since)) (\(Words.age(age)))"
    if usual.answered > 0 {
      sentence += "; the longest of \(usual.answered) that were answered took \(Words.seconds(usual.longest))"
    }
    sentence += "."
    if behind > 0 {
      sentence +=
        " \(Words.count(behind, "more request")) \(behind == 1 ? "waits" : "wait") for a free connection."
    }
    if let route = routes.first {
      sentence +=
        " \(Words.count(effects.count, "served request")) of \(route)"
        + "\(routes.count > 1 ? " and others" : "") \(effects.count == 1 ? "waits" : "wait") because of this."
    }
    let side = kind.isMade ? "client" : "server"
    // The gauge has the path only where it is known at the begin.
    var target = kind
    target.path = ""
    let query =
      "max by (client) (http_\(side)_oldest_active_request_seconds\(kind.isMade ? target.selector : ""))"
    return Finding(
      kind: .hangs, sentence: sentence, requests: kind,
      figures: [
        ("count", Double(requests.count)), ("oldest_s", age), ("longest_before_s", usual.longest),
        ("served", Double(effects.count)),
      ], since: since, last: evidence.time, queries: [query],
      runbook: kind.isMade ? "httpclientrequesthangs" : "httpserverrequesthangs",
      // A made request may be why a served one waits.
      weight: age * Double(requests.count) * (kind.isMade ? 1e6 : 1))
  }

  /// How the process before this one ended.
  var ends: [Finding] {
    guard let end = evidence.previousEnd else { return [] }
    return [Finding(kind: .ended, sentence: end, isWrong: false, runbook: "sessiontaprestarts")]
  }
}
