import TapCore

/// What the requests of a finding have in common. A served request has no method if its route has several.
struct RequestKind: Hashable, Sendable {
  var isMade = true
  /// Empty for a served request.
  var client = ""
  /// With the port, unless it is that of the scheme. Empty for a served request.
  var server = ""
  var method = ""
  /// The template of a made request, the route of a served one, or empty.
  var path = ""
}

/// The requests of one kind in some time.
struct Tally: Sendable, Equatable {
  /// A request is slow from here on, in seconds. The recording rules use the same bound for the Apdex.
  static let limit = 1.0

  var count = 0
  /// Those that failed, by the type of their error, and those that were answered with a 4xx, by its code.
  var failures: [String: Int] = [:]
  /// What those took that ended as `timeout`.
  var timeouts = Spent()
  /// Of all: how many requests they made, by client.
  var calls: [String: Int] = [:]

  /// Of those that were answered, and not with a failure, as all that follows.
  var answered = 0
  /// The sum of their durations, in seconds.
  var seconds = 0.0
  /// How many are in each bucket, by its lower bound in seconds.
  var buckets: [Double: Int] = [:]
  var longest = 0.0
  /// The sums of their phases, in seconds.
  var phases: [RequestTimings.Phase: Double] = [:]

  /// What their calls took, in seconds, and by client.
  var upstream = Upstream()
  var clients: [String: Upstream] = [:]

  struct Upstream: Sendable, Equatable {
    var calls = 0
    var seconds = 0.0
  }

  /// In seconds.
  struct Spent: Sendable, Equatable {
    var time = 0.0
    var phases: [RequestTimings.Phase: Double] = [:]
  }

  var mean: Double { perAnswer(seconds) }
  func perAnswer(_ sum: Double) -> Double { answered == 0 ? 0 : sum / Double(answered) }
  func perRequest(_ sum: Double) -> Double { count == 0 ? 0 : sum / Double(count) }
  /// The requests without a complete response, and those answered with a 5xx. A 4xx is apart.
  var errors: Int { failures.reduce(0) { $0 + (Self.isRefusal($1.key) ? 0 : $1.value) } }
  var refusals: Int { failures.reduce(0) { $0 + (Self.isRefusal($1.key) ? $1.value : 0) } }
  /// How many took longer for certain.
  func count(over limit: Double) -> Int { buckets.reduce(0) { $0 + ($1.key >= limit ? $1.value : 0) } }
  var slow: Int { count(over: Self.limit) }
  /// In seconds: for how long an answered request waits for its calls on average, and the rest of its time.
  var upstreamMean: Double { perAnswer(upstream.seconds) }
  var ownMean: Double { max(0, mean - upstreamMean) }
  var callsPerAnswer: Double { perAnswer(Double(upstream.calls)) }

  static func isRefusal(_ failure: String) -> Bool {
    failure.utf8.count == 3 && failure.hasPrefix("4") && Int(failure) != nil
  }

  static func + (one: Tally, other: Tally) -> Tally {
    var sum = one
    sum.count += other.count
    sum.answered += other.answered
    sum.seconds += other.seconds
    sum.buckets.merge(other.buckets, uniquingKeysWith: +)
    sum.longest = max(one.longest, other.longest)
    sum.upstream = sum.upstream + other.upstream
    sum.timeouts.time += other.timeouts.time
    sum.timeouts.phases.merge(other.timeouts.phases, uniquingKeysWith: +)
    sum.calls.merge(other.calls, uniquingKeysWith: +)
    sum.failures.merge(other.failures, uniquingKeysWith: +)
    sum.phases.merge(other.phases, uniquingKeysWith: +)
    sum.clients.merge(other.clients, uniquingKeysWith: +)
    return sum
  }

  static func += (one: inout Tally, other: Tally) { one = one + other }
}

extension Tally.Upstream {
  static func + (one: Self, other: Self) -> Self {
    Self(calls: one.calls + other.calls, seconds: one.seconds + other.seconds)
  }
}

/// What is known of a process and its requests, as plain values: all that a ``Diagnosis`` reads.
struct Evidence: Sendable {
  /// Five seconds, or what has passed of them.
  struct Step: Sendable {
    var begin: Instant
    var tallies: [RequestKind: Tally] = [:]
    var busyProcessors: Double?
  }

  /// An active request.
  struct Active: Sendable {
    var kind: RequestKind
    /// In seconds, as the others.
    var age: Double
    var wait: RequestWait?
    /// How long nothing has been sent or received (``RequestSnapshot/knownIdleTime``).
    var idle: Double?
    /// The limit of its direction.
    var limit = 30.0
    /// For which others it waits, by their indices: a served request for those that it makes.
    var causes: [Int] = []
  }

  var now: Instant
  var time: Timestamp
  /// From when on the steps are complete, and whether that is when the tap started.
  var start: Instant
  var isWhole = false
  /// The oldest first. One without requests is not there.
  var steps: [Step] = []
  /// Those that may hang, the oldest first.
  var active: [Active] = []
  /// The queue of all URLSessions, if it is held, and how many requests it has not started.
  var held: HeldQueue?
  var unstarted = 0
  /// How the process before this one ended, if that was seen and was no regular end.
  var previousEnd: String?

  /// For how long the steps are complete, in seconds.
  var covered: Double { start.duration(to: now).seconds }

  func time(of instant: Instant) -> Timestamp {
    Timestamp(
      nanosecondsSinceEpoch: time.nanosecondsSinceEpoch &- (now.nanoseconds &- instant.nanoseconds))
  }
}
