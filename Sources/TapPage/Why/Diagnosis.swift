import TapCore

/// Concludes from what is known of a process what is wrong with its requests, and whose fault it is.
///
/// It says no more than was seen, and names the numbers. What it calls wrong was seen several times, is not
/// as it always was, and has not ended: some failures among many requests, one slow request and a slow start
/// are no trouble.
struct Diagnosis: Sendable {
  static let limit = 20

  /// The worst first.
  let findings: [Finding]
  private let past: Past
  /// The requests that ended in the time, and how many of them failed.
  private let ended: Tally

  /// - Parameter span: The time that counts as now, in seconds.
  init(_ evidence: Evidence, span: Double = 30) {
    past = Past(evidence, span: span)
    ended = past.recent.values.reduce(Tally(), +)
    let (slow, calls) = (past.slow, past.calls)
    let explained = Set(calls.filter(\.isWrong).map(\.requests))
    let routes = slow.filter { $0.requests?.isMade == false && !explained.contains($0.requests) }
    let causes =
      past.held + past.hangs + past.failures + past.refusals + slow.filter { $0.requests?.isMade == true }
    var findings = past.merge(routes, into: causes) + calls + past.ends
    // A sort of Swift's is stable, and a finding of one kind stands where it was made.
    findings.sort { ($0.rank, -$0.weight) < ($1.rank, -$1.weight) }
    self.findings = Array(findings.prefix(Self.limit))
  }

  var isWell: Bool { !findings.contains(where: \.isWrong) }

  /// What was seen, if nothing is wrong. Active requests may be as they should, but if none has ended that
  /// is unknown.
  var summary: String {
    let (inTime, also) = (past.inTime, past.activeWords.map { "; \($0)" } ?? "")
    if ended.count == 0 {
      return also.isEmpty
        ? "All is well: no request ended \(inTime)." : "No request has ended \(inTime)\(also)."
    }
    let failed = ended.errors == 0 ? "none" : "\(ended.errors)"
    return "All is well: \(Words.count(ended.count, "request")) ended \(inTime), and \(failed) of them failed"
      + "\(also)."
  }

  /// A line each: what is wrong or that nothing is, then the rest.
  var text: String {
    let (wrong, notes) = (findings.filter(\.isWrong), findings.filter { !$0.isWrong })
    let lines =
      (isWell ? [summary] : wrong.map(\.sentence))
      + (notes.isEmpty ? [] : ["Known, and no trouble now:"] + notes.map(\.sentence))
    return lines.map { "\($0.oneLine)\n" }.joined()
  }

  var json: JSON {
    .object([
      ("is_well", .number(isWell)), ("sentence", .text(isWell ? summary : findings.first?.sentence)),
      ("seconds", .number(past.time)), ("requests", .number(ended.count)), ("failed", .number(ended.errors)),
      ("refused", .number(ended.refusals)), ("findings", .list(findings.map(\.json))),
    ])
  }
}

/// A conclusion about a process and its requests.
struct Finding: Sendable {
  /// A cause before its effects.
  enum Kind: String, Sendable, CaseIterable {
    /// The queue of all URLSessions does not run.
    case held
    /// Requests are active for too long.
    case hangs
    /// Requests end without a complete response, or with a 5xx.
    case fails
    /// Made requests are answered with a 4xx.
    case refused
    /// Served requests make more calls than before.
    case calls
    /// Requests take longer than before, or than a second.
    case slow
    /// The process before this one did not end as it should.
    case ended
  }

  var kind: Kind
  var sentence: String
  /// `false` for what is known and is no trouble now: it is over, is as it was before, or is little.
  var isWrong = true
  /// Of which requests; `nil` for all.
  var requests: RequestKind?
  /// The client that is at fault, where one is; of served requests also one that they wait for.
  var client: String?
  var figures: [(name: String, value: Double)] = []
  /// When it was first seen without a pause of a minute, `nil` if that was before all that is kept, and when
  /// last.
  var since: Timestamp?
  var last: Timestamp?
  /// What to look at in Prometheus.
  var queries: [String] = []
  var runbook = ""
  /// Of findings that are alike, the greatest comes first.
  var weight = 0.0
  /// Whose time a slow request takes, for the finding about what makes it slow.
  var account = ""

  /// What is wrong comes before the rest.
  fileprivate var rank: Int {
    (isWrong ? 0 : Kind.allCases.count) + (Kind.allCases.firstIndex(of: kind) ?? 0)
  }

  var json: JSON {
    .object([
      ("kind", .text(kind.rawValue)), ("sentence", .text(sentence)), ("is_wrong", .number(isWrong)),
      ("direction", .text(requests.map { $0.isMade ? "made" : "served" })),
      ("client", .text(client ?? requests.flatMap { $0.isMade ? $0.client : nil })),
      ("server", .text(requests.flatMap { $0.isMade ? $0.server : nil })),
      ("method", .text(requests?.method)), ("route", .text(requests?.path)),
      ("figures", .object(figures.map { ($0.name, .number($0.value)) })),
      ("since", .text(since?.utc)), ("last", .text(last?.utc)),
      ("queries", .list(queries.compactMap(JSON.text))),
      ("runbook", .text("dashboards/runbooks.md#\(runbook)")),
    ])
  }
}

/// The evidence as now and before.
struct Past: Sendable {
  /// So many requests tell what is usual.
  static let enough = 10
  /// So many tell that something is wrong, or over.
  static let few = 3

  let evidence: Evidence
  /// What counts as now, in seconds.
  let time: Double
  let recent: [RequestKind: Tally]
  /// From when on it is now.
  private let begin: Instant
  /// The older half of the time before, where it tells what is usual: that does not change while a trouble
  /// lasts for some minutes. Else all of it.
  private let earlier: (half: [RequestKind: Tally], all: [RequestKind: Tally])

  init(_ evidence: Evidence, span: Double) {
    let begin = Instant(nanoseconds: evidence.now.nanoseconds &- Int64(max(1, min(span, 600)) * 1e9))
    let middle = Instant(
      nanoseconds: evidence.start.nanoseconds + (begin.nanoseconds - evidence.start.nanoseconds) / 2)
    func sum(_ isIn: (Evidence.Step) -> Bool) -> [RequestKind: Tally] {
      evidence.steps.filter(isIn).reduce(into: [:]) { $0.merge($1.tallies, uniquingKeysWith: +) }
    }
    (self.evidence, self.begin) = (evidence, begin)
    time = max(begin, evidence.start).duration(to: evidence.now).seconds
    recent = sum { $0.begin >= begin }
    earlier = (sum { $0.begin < middle && $0.begin < begin }, sum { $0.begin < begin })
  }

  func before(_ kind: RequestKind) -> Tally {
    let half = earlier.half[kind] ?? Tally()
    return half.answered >= Self.enough ? half : earlier.all[kind] ?? half
  }

  /// In an order that does not depend on hashes.
  var kinds: [RequestKind] {
    recent.keys.sorted { ($0.isMade ? 0 : 1, $0.client, $0.name) < ($1.isMade ? 0 : 1, $1.client, $1.name) }
  }

  /// Of the requests of a kind, from the newest step back.
  func newest(_ kind: RequestKind) -> [Tally] { evidence.steps.reversed().compactMap { $0.tallies[kind] } }

  /// A time in which something was seen.
  struct Episode {
    let since: Timestamp?
    let last: Timestamp
    /// What was seen in it, as far as it is now.
    let tally: Tally
    /// Such as `since 11:59:40`.
    let words: String
  }

  /// The last series of steps in which something is seen of a kind, without a gap of a minute.
  func episode(_ kind: RequestKind, isOver: Bool, _ isIn: (Tally) -> Bool) -> Episode? {
    let minute: Int64 = 60_000_000_000
    var (first, last) = (Instant?.none, Instant?.none)
    for step in evidence.steps.reversed() {
      if let first, first.nanoseconds &- step.begin.nanoseconds > minute { break }
      guard step.tallies[kind].map(isIn) ?? false else { continue }
      (first, last) = (step.begin, last ?? step.begin)
    }
    guard let first, let last else { return nil }
    let from = max(first, begin)
    let isNow = { (step: Evidence.Step) in step.begin >= from && (!isOver || step.begin <= last) }
    let tally = evidence.steps.lazy.filter(isNow).compactMap { $0.tallies[kind] }.reduce(Tally(), +)
    // Whether it has been so for as long as is known.
    let isFirst =
      first.nanoseconds &- evidence.start.nanoseconds < (evidence.isWhole ? minute / 6 : minute)
      && !evidence.steps.contains { $0.begin < first && ($0.tallies[kind]?.count ?? 0) > 0 }
    let start = evidence.time(of: isFirst ? evidence.start : max(first, evidence.start))
    let since = isFirst && !evidence.isWhole ? nil : start
    let end = evidence.time(of: min(evidence.now, last.advanced(by: .seconds(5))))
    let words =
      if isOver {
        "\(since.map { "from \(Words.time($0)) to" } ?? "until") \(Words.time(end))"
      } else if since == nil {
        "\(inTime), and so for \(Words.age(evidence.covered)) or longer"
      } else {
        "\(first < begin ? "\(inTime), and so " : "")since \(isFirst ? "the start at " : "")\(Words.time(start))"
      }
    return Episode(since: since, last: end, tally: tally, words: words)
  }

  /// Such as `in the last 30 s`.
  var inTime: String { "in the last \(Words.seconds(time < 1 ? time : time.rounded()))" }

  /// Those that are active for so long that one may ask. `nil` if none is.
  var activeWords: String? {
    let old = evidence.active.filter { $0.age >= Evidence.ageLimit.seconds }
    guard let oldest = old.max(by: { $0.age < $1.age }) else { return nil }
    let age = Words.age(oldest.age)
    if old.count == 1 {
      return "1 has been active for \(age)" + (oldest.wait.map { ", and waits \(Words.wait($0).what)" } ?? "")
    }
    return "\(old.count)\(old.count < Evidence.activeLimit ? "" : " or more") have been active for "
      + "\(Words.seconds(Evidence.ageLimit.seconds)) or longer, the oldest for \(age)"
  }
}
