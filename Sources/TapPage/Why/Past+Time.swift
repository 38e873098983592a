import TapCore

extension Past {
  /// So many times the usual mean is slow, if it is more by so many seconds.
  private static let times = 3.0
  private static let least = 0.05
  /// So many are slower, at least.
  private static let several = 5
  /// A share of requests over ``Tally/limit`` that is slow.
  private static let share = 0.1

  var slow: [Finding] { kinds.compactMap(slow) }

  /// The findings about slow routes in those about the client that they wait for.
  func merge(_ routes: [Finding], into causes: [Finding]) -> [Finding] {
    var (left, causes) = (routes, causes)
    for index in causes.indices where causes[index].isWrong && causes[index].requests?.isMade == true {
      let client = causes[index].requests?.client
      let effects = left.filter { $0.isWrong && $0.client == client }
      left.removeAll { $0.isWrong && $0.client == client }
      for effect in effects.prefix(3) {
        causes[index].sentence += " \(effect.requests?.name ?? "") waits for it: \(effect.account)."
      }
    }
    return causes + left
  }

  /// Whether more calls are made for each request than before.
  var calls: [Finding] {
    kinds.filter { !$0.isMade }.compactMap { kind in
      let before = before(kind)
      guard let now = recent[kind], before.count >= Self.enough else { return nil }
      func perRequest(_ client: String, _ tally: Tally) -> Double {
        tally.perRequest(Double(tally.calls[client] ?? 0))
      }
      func many(_ client: String, _ tally: Tally) -> Bool {
        let (calls, usual) = (perRequest(client, tally), perRequest(client, before))
        return calls >= Self.times * usual && calls - usual >= 2
      }
      let episodes = now.calls.keys.sorted().compactMap { client in
        let isOver = isOver(kind) { !many(client, $0) }
        return episode(kind, isOver: isOver, { many(client, $0) }).map { (client, $0, isOver) }
      }.filter { client, episode, _ in episode.tally.count >= Self.few && many(client, episode.tally) }
      let worst = episodes.max { perRequest($0.0, $0.1.tally) < perRequest($1.0, $1.1.tally) }
      guard let (client, episode, isOver) = worst else { return nil }
      let (calls, usual, seen) = (
        perRequest(client, episode.tally), perRequest(client, before), episode.tally
      )
      let times =
        seen.answered == 0
        ? "" : ": \(seen.answered < seen.count ? "those that were answered took " : "")\(account(of: seen))"
      return Finding(
        kind: .calls,
        sentence:
          "\(kind.name) makes \(Words.number(calls)) calls of \(Words.client(client)) for each request "
          + "\(episode.words) (\(Words.number(usual)) before)\(times).",
        isWrong: !isOver, requests: kind, client: client,
        figures: figures(kind, seen, before) + [("client_calls", calls), ("client_calls_before", usual)],
        since: episode.since, last: episode.last,
        queries: [
          "sum by (client) (rate(http_server_upstream_requests_total\(kind.selector)[5m])) / on () group_left "
            + "sum (rate(\(kind.durations)_count\(kind.selector)[5m]))"
        ], runbook: "httpserverlatencyhigh", weight: (calls - usual) * Double(seen.count))
    }
  }

  /// Slower than before, or than ``Tally/limit``. That is no trouble if it always was so, or if there is no
  /// before.
  private func slow(_ kind: RequestKind) -> Finding? {
    let before = before(kind)
    guard let now = recent[kind], now.answered >= Self.few else { return nil }
    let isKnown = before.answered >= Self.enough
    func isSlower(_ tally: Tally) -> Bool {
      isKnown && tally.mean > Self.times * before.mean && tally.mean - before.mean > Self.least
    }
    func share(_ tally: Tally) -> Double { tally.perAnswer(Double(tally.slow)) }
    // Many, and not one that took very long.
    func areMany(_ tally: Tally) -> Bool {
      let count = tally.count(over: max(Self.least, Self.times * before.mean))
      return count >= Self.several && 3 * count >= tally.answered
    }
    let isLong = now.slow >= Self.few && share(now) >= Self.share
    let isIn = { (tally: Tally) in isSlower(tally) || isLong && tally.slow > 0 }
    let isOver = isOver(kind) { !isIn($0) }
    guard let episode = episode(kind, isOver: isOver, isIn) else { return nil }
    let seen = episode.tally, isNew = isSlower(seen) && areMany(seen)
    guard isNew || isLong else { return nil }
    return Finding(
      kind: .slow,
      sentence: long(kind, seen, isKnown ? before : nil, isNew: isNew, isLong: isLong, episode.words)
        + ": \(kind.isMade ? phases(seen, before, isNew) : whose(seen, before)).",
      isWrong: !isOver && (isNew || isKnown && share(before) < share(now) / 2), requests: kind,
      client: kind.isMade ? kind.client : client(seen, before), figures: figures(kind, seen, before),
      since: episode.since, last: episode.last,
      queries: [
        "histogram_quantile(0.99, sum by (le) (rate(\(kind.durations)_bucket\(kind.selector)[5m])))",
        kind.isMade
          ? "sum by (phase) (rate(http_client_request_phase_duration_seconds_sum\(kind.selector)[5m]))"
          : "sum by (client) (rate(http_server_upstream_request_seconds_total\(kind.selector)[5m]))",
      ], runbook: kind.isMade ? "httpclientlatencyhigh" : "httpserverlatencyhigh",
      weight: (seen.mean - (isKnown ? before.mean : 0)) * Double(seen.answered), account: account(of: seen))
  }

  /// How long the answered requests took, and how many of all they are.
  private func long(
    _ kind: RequestKind, _ seen: Tally, _ before: Tally?, isNew: Bool, isLong: Bool, _ when: String
  ) -> String {
    let mean = "took \(Words.seconds(seen.mean)) on average"
    let usual = before.map { " (\(Words.seconds($0.mean)) before)" } ?? ""
    let over = "over \(Words.seconds(Tally.limit))"
    let others = seen.count - seen.answered
    if others == 0, isLong, !isNew, seen.slow < seen.answered {
      return "\(seen.slow) of \(seen.answered) \(kind.requests(seen.answered)) took \(over) \(when); "
        + "all of them \(mean)\(usual)"
    }
    return "\(seen.answered) \(others > 0 ? "of \(seen.count) " : "")\(kind.requests(seen.count)) "
      + "\(mean) \(when)\(usual)"
      + (isLong ? ", \(seen.slow == seen.answered ? "all" : "\(seen.slow)") of them \(over)" : "")
      + (others > 0 ? " (the other \(others) failed\(others > seen.errors ? " or were cancelled" : ""))" : "")
  }

  /// Whether so many of the newest requests are as they should be.
  private func isOver(_ kind: RequestKind, _ isWell: (Tally) -> Bool) -> Bool {
    var count = 0
    for tally in newest(kind) where tally.answered > 0 {
      guard isWell(tally) else { break }
      count += tally.answered
    }
    return count >= Self.few
  }

  /// The phase that has grown most, and what the app can do about it.
  ///
  /// - Parameter isKnown: Whether it took less before.
  private func phases(_ now: Tally, _ before: Tally, _ isKnown: Bool) -> String {
    func mean(_ phase: RequestTimings.Phase, _ tally: Tally) -> Double {
      tally.perAnswer(tally.phases[phase] ?? 0)
    }
    let growths = RequestTimings.Phase.allCases.map { phase in
      (phase, growth: mean(phase, now) - (isKnown ? mean(phase, before) : 0))
    }
    guard let (phase, growth) = growths.max(by: { $0.growth < $1.growth }), growth > 0,
      growth >= (now.mean - (isKnown ? before.mean : 0)) / 4
    else { return "in no phase that is known" }
    let what = "\(Words.seconds(mean(phase, now))) of it is \(phase.rawValue), \(Words.phase(phase))"
    return what + (phase == .local ? busy : "")
      + (Words.remedy(phase).map { ". \($0.prefix(1).uppercased())\($0.dropFirst())" } ?? "")
  }

  /// Whose time a served request takes.
  private func whose(_ now: Tally, _ before: Tally) -> String {
    client(now, before) == nil ? ofIt(now) + busy : ofIt(now)
  }

  /// The client for which a request waits for longer than before, if that is most of what it takes longer.
  private func client(_ now: Tally, _ before: Tally) -> String? {
    guard now.upstreamMean - before.upstreamMean >= max(0, now.mean - before.mean) / 2 else { return nil }
    func seconds(_ client: String, _ tally: Tally) -> Double {
      tally.perAnswer(tally.clients[client]?.seconds ?? 0)
    }
    return now.clients.keys.max { one, other in
      (seconds(one, now) - seconds(one, before), other) < (seconds(other, now) - seconds(other, before), one)
    }
  }

  /// Such as `412 ms, 380 ms of it waiting for `payments`, 3 calls`.
  private func account(of now: Tally) -> String { "\(Words.seconds(now.mean)) on average, \(ofIt(now))" }

  private func ofIt(_ now: Tally) -> String {
    let largest = now.clients.max { ($0.value.seconds, $1.key) < ($1.value.seconds, $0.key) }
    guard let client = largest?.key, now.upstreamMean >= now.ownMean else {
      return "\(Words.seconds(now.ownMean)) of it the app's own"
    }
    let calls = Words.number(now.callsPerAnswer)
    return
      "\(Words.seconds(now.upstreamMean)) of it waiting for \(Words.client(client))\(now.clients.count > 1 ? " and others" : ""), "
      + "\(calls) call\(calls == "1" ? "" : "s")"
  }

  /// How busy the processors are.
  private var busy: String {
    func mean(_ steps: ArraySlice<Evidence.Step>) -> Double? {
      let values = steps.compactMap(\.busyProcessors)
      return values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }
    guard let now = mean(evidence.steps.suffix(4)) else { return "" }
    let before = mean(evidence.steps.dropLast(Int(time) / 5 + 1))
    return "; the process keeps \(Words.number(now)) processors busy"
      + (before.map { " (\(Words.number($0)) before)" } ?? "")
  }

  /// Of the answered requests, as far as there are any.
  private func figures(
    _ kind: RequestKind, _ now: Tally, _ before: Tally
  ) -> [(name: String, value: Double)] {
    let counts = [
      ("requests", Double(now.answered)), ("before_requests", Double(before.answered)),
      ("over_1_s", Double(now.slow)),
    ]
    let usual = before.answered == 0 ? [] : [("before_mean_s", before.mean)]
    if now.answered == 0 { return counts + usual }
    let phases = RequestTimings.Phase.allCases.compactMap { phase in
      now.phases[phase].map { ("\(phase.rawValue)_s", now.perAnswer($0)) }
    }
    return counts + usual + [("mean_s", now.mean)]
      + (kind.isMade
        ? phases
        : [("upstream_s", now.upstreamMean), ("own_s", now.ownMean), ("calls", now.callsPerAnswer)])
  }
}
