import TapCore

/// A conclusion about a process and its requests.
struct Finding: Sendable, Equatable {
  enum Kind: String, Sendable {
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
  /// When it was first seen without a pause of a minute, and when last.
  var since: Timestamp?
  var last: Timestamp?
  /// What to look at in Prometheus.
  var queries: [String] = []
  var runbook = ""
  /// Of findings that are alike, the greatest comes first.
  var weight = 0.0
  /// Whose time a slow request takes, for the finding about what makes it slow.
  var account = ""

  static func == (one: Finding, other: Finding) -> Bool { one.json.description == other.json.description }

  var json: JSON {
    .object([
      ("kind", .text(kind.rawValue)), ("sentence", .text(sentence)), ("is_wrong", .number(isWrong)),
      ("direction", .text(requests.map { $0.isMade ? "made" : "served" })),
      ("client", .text(client ?? requests.flatMap { $0.isMade ? $0.client : nil })),
      ("server", .text(requests.flatMap { $0.isMade ? $0.server : nil })),
      ("method", .text(requests?.method)), ("route", .text(requests?.path)),
      ("figures", .object(figures.map { ($0.name, .number($0.value)) })),
      ("since", .text(since.map(Words.dateAndTime))), ("last", .text(last.map(Words.dateAndTime))),
      ("queries", .list(queries.compactMap(JSON.text))),
      ("runbook", .text("dashboards/runbooks.md#\(runbook)")),
    ])
  }
}
