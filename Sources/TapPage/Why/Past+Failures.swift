import TapCore

extension Past {
  /// A share of failures from which on they are wrong.
  private static let share = 0.05

  /// Requests without a complete response, or with a 5xx.
  var failures: [Finding] {
    kinds.compactMap { kind in
      guard let now = recent[kind], now.errors > 0 else { return nil }
      return failure(of: kind, now, \.errors) { isMany, isOver in
        isMany && !isOver || allFail(kind)
      }
    }
  }

  /// Those of an upstream that took such requests before, such as a 401 since a key has expired.
  var refusals: [Finding] {
    kinds.compactMap { kind in
      guard let now = recent[kind], now.refusals > 0 else { return nil }
      let before = before(kind)
      let isNew =
        kind.isMade && before.count >= Self.enough
        && now.perRequest(Double(now.refusals)) >= max(0.5, 2 * before.perRequest(Double(before.refusals)))
      return failure(of: kind, now, \.refusals) { isMany, isOver in isMany && isNew && !isOver }
    }
  }

  private func failure(
    of kind: RequestKind, _ now: Tally, _ number: (Tally) -> Int,
    isWrong: (_ isMany: Bool, _ isOver: Bool) -> Bool
  ) -> Finding? {
    let isRefused = number(Tally(failures: ["404": 1])) == 1
    let (share, before) = (now.perRequest(Double(number(now))), before(kind))
    let isOver = isOver(kind, number)
    let isWrong = isWrong(number(now) >= Self.few && share >= Self.share, isOver)
    guard let episode = episode(kind, isOver: isOver, { number($0) > 0 }) else { return nil }
    let seen = episode.tally
    let types = seen.failures.filter { Tally.isRefusal($0.key) == isRefused }
      .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    return Finding(
      kind: isRefused ? .refused : .fails,
      sentence: "\(number(seen)) of \(seen.count) \(kind.requests(2)) "
        + "\(isRefused ? "were answered with a 4xx" : "failed") \(episode.words)"
        + (before.count > 0 ? " (\(number(before)) of \(before.count) before)" : "")
        + ": \(reasons(types, of: kind, seen))\(isRefused ? "" : failedCalls(of: kind, seen)).",
      isWrong: isWrong, requests: kind,
      figures: [
        ("count", Double(number(seen))), ("requests", Double(seen.count)),
        ("before_count", Double(number(before))), ("before_requests", Double(before.count)),
      ], since: episode.since, last: episode.last,
      queries: ["sum by (error_type) (rate(\(kind.durations)_count\(kind.selector)[5m]))"],
      runbook: !kind.isMade
        ? "httpservererrorsharehigh"
        : types.first?.key == "timeout" ? "httpclienttimeouts" : "httpclienterrorsharehigh",
      // A made request may be the cause of a served one's failure.
      weight: Double(number(now)) * share * (kind.isMade ? 2 : 1))
  }

  private func reasons(
    _ types: [(key: String, value: Int)], of kind: RequestKind, _ seen: Tally
  ) -> String {
    types.prefix(3).map { type, count in
      "\(types.count > 1 ? "\(count) × " : "")\(reason(type, of: kind, seen))"
    }.joined(separator: "; ")
  }

  /// A failure and whose it is, no further than its type tells. What an app says of a request that it serves
  /// may be of a call of its own.
  private func reason(_ type: String, of kind: RequestKind, _ seen: Tally) -> String {
    let words = Words.failure(type)
    if Tally.isRefusal(type) { return words }
    if Int(type) != nil { return "\(kind.isMade ? "the server" : "this app") answered \(words)" }
    guard kind.isMade else { return words }
    if type == RequestErrorType.timeout.rawValue,
      let (phase, time) = seen.timeouts.phases.max(by: { $0.value < $1.value }),
      time > 0, time >= seen.timeouts.time / 2
    {
      return "\(words) (most of it is \(phase.rawValue), \(Words.phase(phase)))"
    }
    return words + (Words.suspects(type).map { " (\($0))" } ?? "")
  }

  /// The clients that these served requests call and whose requests fail too, of whatever route.
  private func failedCalls(of kind: RequestKind, _ served: Tally) -> String {
    if kind.isMade { return "" }
    let failed = Set(recent.filter { $0.key.isMade && $0.value.errors > 0 }.keys.map(\.client))
    let names = served.calls.keys.filter(failed.contains).sorted().map(Words.client)
    guard let first = names.first else { return "" }
    return "; requests of \(first)\(names.count > 1 ? " and others" : ""), which it calls, failed too"
  }

  /// Whether so many requests have gone well since the last failure that they would hardly all have done so
  /// if it went on.
  private func isOver(_ kind: RequestKind, _ number: (Tally) -> Int) -> Bool {
    var (well, failing) = (0, Tally())
    for tally in newest(kind) {
      if number(tally) > 0 {
        failing += tally
        // Those steps that tell how many fail while it lasts.
        if failing.count >= Self.enough { break }
      } else if failing.count == 0 {
        well += tally.count
      }
    }
    var chance = 1.0
    for _ in 0..<min(well, 1_000) { chance *= 1 - failing.perRequest(Double(number(failing))) }
    return well >= Self.few && chance < 0.01
  }

  /// Whether the last few requests have all failed, however long they took to come.
  private func allFail(_ kind: RequestKind) -> Bool {
    var failed = 0
    for tally in newest(kind) {
      if tally.errors < tally.count { break }
      failed += tally.errors
    }
    return failed >= Self.few
  }
}

extension RequestKind {
  /// The histogram of the durations.
  var durations: String { "http_\(isMade ? "client" : "server")_request_duration_seconds" }

  /// For a query of PromQL.
  var selector: String {
    func pair(_ name: String, _ value: String) -> String {
      let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
        "\n", with: "\\n")
      return "\(name)=\"\(escaped)\""
    }
    let pairs =
      isMade
      ? [pair("client", client)] + (path.isEmpty ? [] : [pair("url_template", path)])
      : [pair("http_route", path)]
    return "{\(pairs.joined(separator: ","))}"
  }
}
