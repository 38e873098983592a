extension RequestHistory {
  /// What a reader gets: the slots that are over, and the current one up to now.
  package struct Window: Sendable {
    /// The upper bounds of the buckets, without `+Inf`.
    package let bounds: [Double]
    /// The time that the slots cover, in nanoseconds.
    package let covered: Int64
    /// Whether that is all the time since the start.
    package let isWhole: Bool
    /// Only slots with requests, the oldest first.
    package let slots: [Slot]
  }

  package struct Slot: Sendable {
    /// When it began, on the monotonic clock.
    package var begin: Instant { Instant(nanoseconds: number * RequestHistory.slotNanoseconds) }
    package let number: Int64
    package internal(set) var additions: [Addition] = []
    /// How many processors the process has kept busy since the slot before, on average. `nil` of the current
    /// slot.
    package internal(set) var busyProcessors: Double?
    /// What the calls took that the app made within served requests.
    package internal(set) var upstream: [Route: UpstreamTime] = [:]
    private(set) var bytes = 0

    var isEmpty: Bool { additions.isEmpty && upstream.isEmpty }

    mutating func measure() {
      bytes =
        additions.reduce(0) { $0 + $1.bytes } + upstream.reduce(0) { $0 + $1.key.bytes + $1.value.bytes }
    }
  }

  /// The requests of one series in one slot.
  package struct Addition: Sendable {
    let id: SeriesID
    private let rendered: RenderedLabels
    /// The sum of the durations, in seconds.
    package let sum: Double
    /// The requests in each bucket, not cumulative, `+Inf` last.
    package let counts: [UInt32]
    package let account: Account
    /// `nil` if a later slot has a slower one of the series.
    package internal(set) var slowest: Example?
    /// `nil` if none failed, or a later slot has a newer one of the series.
    package internal(set) var newestFailure: Example?

    init(_ id: SeriesID, _ now: Values, since change: Change) {
      (self.id, rendered) = (id, now.labels)
      sum = now.sum - change.before.sum
      let before = change.before.counts
      counts = now.counts.enumerated().map { index, count in
        UInt32(clamping: count &- (index < before.count ? before[index] : 0))
      }
      (account, slowest, newestFailure) = (change.account, change.slowest, change.newestFailure)
    }

    /// As the text formats write them.
    package var labels: [UInt8] { rendered.bytes }

    package var labelValues: [String: String] {
      let pairs = rendered.pairs.map {
        (String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))
      }
      return Dictionary(pairs) { first, _ in first }
    }

    var bytes: Int {
      MemoryLayout<Addition>.stride + labels.count + 4 * counts.count + account.bytes
        + (slowest?.bytes ?? 0) + (newestFailure?.bytes ?? 0)
    }
  }

  /// What took the time of the requests of one series in one slot.
  package struct Account: Sendable {
    /// The sums of the phases, over the requests that have them.
    package private(set) var timings = RequestTimings()
    /// `nil` if none is known.
    package private(set) var openedConnections: Int?
    package private(set) var roundTripCount = 0
    package private(set) var roundTripNanoseconds: Int64 = 0
    package private(set) var retransmittedSegments: Int?

    var bytes: Int { timings.isEmpty ? 0 : 32 + 8 * RequestTimings.Phase.allCases.count }

    mutating func add(_ request: borrowing RequestObservation) {
      timings.add(request.timings)
      if let count = request.openedConnections { openedConnections = (openedConnections ?? 0) &+ count }
      if let roundTrip = request.networkRoundTrip {
        roundTripCount += 1
        roundTripNanoseconds &+= roundTrip.nanoseconds
      }
      if let count = request.retransmittedSegments {
        retransmittedSegments = (retransmittedSegments ?? 0) &+ count
      }
    }
  }

  /// The requests of a route that were answered, or its others: one that fails at once takes less.
  package struct Route: Hashable, Sendable {
    /// `nil` if none matched.
    package let path: String?
    /// As ``RequestObservation/isAnswered``.
    package let isAnswered: Bool

    var bytes: Int { MemoryLayout<Route>.stride + (path?.utf8.count ?? 0) }
  }

  /// A request that the page can open. A class, because most additions have none.
  package final class Example: Sendable {
    package let nanoseconds: Int64
    package let end: Timestamp
    package let statusCode: Int?
    package let errorType: String?
    package let trace: TraceContext?
    package let timings: RequestTimings
    package let cutOffPhase: RequestTimings.Phase?
    package let upstream: UpstreamTime?

    /// What it takes with its timings and the text of an error's type, at most.
    var bytes: Int { 256 + (upstream?.bytes ?? 0) }

    init(_ request: borrowing RequestObservation) {
      (nanoseconds, end, statusCode) = (request.duration.nanoseconds, request.endTime, request.statusCode)
      (errorType, trace) = (request.errorType, request.request.traceContext?.withoutSpan)
      (timings, cutOffPhase, upstream) = (request.timings, request.cutOffPhase, request.upstream)
    }
  }
}

extension UpstreamTime {
  fileprivate var bytes: Int {
    clients.reduce(MemoryLayout<UpstreamTime>.stride) {
      $0 + MemoryLayout<Client>.stride + $1.name.utf8.count
    }
  }
}
