/// What each five seconds of the last ten minutes added to the durations of a direction's ended requests, by
/// the series of the metric. The page and `/why` read it.
///
/// It is the difference of the values that a scrape shows, so that both add up alike. It takes at most
/// ``byteLimit``: beyond that the oldest five seconds go, and ``Window/covered`` says so.
package struct RequestHistory: Sendable {
  static let slotNanoseconds: Int64 = 5_000_000_000
  static let slotCount: Int64 = 120
  static let byteLimit = 3 << 20

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

    package static var slotNanoseconds: Int64 { RequestHistory.slotNanoseconds }

    package static func slot(at now: Instant) -> Int64 { now.nanoseconds / RequestHistory.slotNanoseconds }
  }

  package struct Slot: Sendable {
    /// When it began, on the monotonic clock.
    package var begin: Instant { Instant(nanoseconds: number * RequestHistory.slotNanoseconds) }
    package let number: Int64
    package fileprivate(set) var additions: [Addition] = []
    /// How many processors the process has kept busy since the slot before, on average. `nil` of the current
    /// slot.
    package fileprivate(set) var busyProcessors: Double?
    /// Of the routes within whose requests the app made others, in no order: of the answered requests of a
    /// route, and of its others.
    package fileprivate(set) var upstream: [Upstream] = []
    fileprivate var bytes = 0

    fileprivate var isEmpty: Bool { additions.isEmpty && upstream.isEmpty }

    fileprivate mutating func measure() {
      bytes = additions.reduce(0) { $0 + $1.bytes } + upstream.reduce(0) { $0 + $1.bytes }
    }
  }

  /// The requests of one series in one slot.
  package struct Addition: Sendable {
    fileprivate let id: SeriesID
    private let rendered: RenderedLabels
    /// The sum of the durations, in seconds.
    package let sum: Double
    /// The requests in each bucket, not cumulative, `+Inf` last.
    package let counts: [UInt32]
    package let account: Account
    /// `nil` if a later slot has a slower one of the series.
    package fileprivate(set) var slowest: Example?
    /// `nil` if none failed, or a later slot has a newer one of the series.
    package fileprivate(set) var newestFailure: Example?

    fileprivate init(_ id: SeriesID, _ now: Values, since change: Change) {
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

    fileprivate var bytes: Int {
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

    fileprivate var bytes: Int { timings.isEmpty ? 0 : 32 + 8 * RequestTimings.Phase.allCases.count }

    fileprivate mutating func add(_ request: borrowing RequestObservation) {
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
    fileprivate var bytes: Int {
      256 + (upstream?.clients.count ?? 0) * MemoryLayout<UpstreamTime.Client>.stride
    }

    fileprivate init(_ request: borrowing RequestObservation) {
      (nanoseconds, end, statusCode) = (request.duration.nanoseconds, request.endTime, request.statusCode)
      (errorType, trace) = (request.errorType, request.request.traceContext?.withoutSpan)
      (timings, cutOffPhase, upstream) = (request.timings, request.cutOffPhase, request.upstream)
    }
  }

  /// The values of a series: before the first request of the current slot, or now.
  struct Values: Sendable {
    let labels: RenderedLabels
    let sum: Double
    let counts: [UInt64]
  }

  /// A series that has requests in the current slot.
  fileprivate struct Change: Sendable {
    let before: Values
    var account = Account()
    var slowest: Example?
    var newestFailure: Example?
  }

  private let bounds: [Double]
  /// From when on it is complete.
  private var start: Instant
  private let firstStart: Instant
  /// Those that are over.
  private var slots: [Slot] = []
  private var number: Int64 = 0
  private var changes: [SeriesID: Change] = [:]
  /// Of the current slot.
  private var upstream: [UpstreamKey: Upstream] = [:]
  private var bytes = 0
  /// When the last slot ended, and the processor time by then.
  private var closed: (time: Instant, processor: Int64)?

  private struct UpstreamKey: Hashable {
    let route: String?
    let isAnswered: Bool
  }

  init(bounds: [Double], start: Instant) {
    (self.bounds, self.start, firstStart) = (bounds, start, start)
  }

  /// The series that have changed in the current slot.
  var changed: [SeriesID] { Array(changes.keys) }

  /// Whether the current slot is over: it has to be closed before a series changes or goes.
  func mustClose(at now: Instant) -> Bool { now.nanoseconds / Self.slotNanoseconds > number }

  /// Begins the slot of this moment.
  ///
  /// - Parameters:
  ///   - values: Those of the ``changed`` series, without those that are gone.
  ///   - processor: What the process has taken of processors until now, in nanoseconds.
  mutating func close(
    _ values: [SeriesID: Values], at now: Instant, processor: Int64 = System.processorNanoseconds
  ) {
    var closed = slot(values)
    if let before = self.closed, now > before.time {
      closed.busyProcessors =
        Double(processor &- before.processor) / Double(now.nanoseconds &- before.time.nanoseconds)
    }
    self.closed = (now, processor)
    if !closed.isEmpty {
      forgetFaster(closed)
      slots.append(closed)
      bytes += closed.bytes
    }
    (changes, upstream) = ([:], [:])
    number = now.nanoseconds / Self.slotNanoseconds
    while let oldest = slots.first, bytes > Self.byteLimit || oldest.number < number - Self.slotCount {
      bytes -= oldest.bytes
      start = max(start, Instant(nanoseconds: (oldest.number + 1) * Self.slotNanoseconds))
      slots.removeFirst()
    }
  }

  func hasChange(of id: SeriesID) -> Bool { changes[id] != nil }

  /// Before the first request of the current slot is recorded in the series.
  mutating func begin(_ id: SeriesID, _ values: Values) { changes[id] = Change(before: values) }

  /// Keeps a request that is recorded in the series, if the page may open it.
  mutating func keep(_ request: borrowing RequestObservation, of id: SeriesID) {
    guard let index = changes.index(forKey: id) else { return }
    changes.values[index].account.add(request)
    if changes.values[index].slowest.map({ $0.nanoseconds < request.duration.nanoseconds }) ?? true {
      changes.values[index].slowest = Example(request)
    }
    // A 4xx that the app answers with has no error type, because it is the caller's mistake.
    let isRefused = request.end != .cancelled && request.statusCode.map { (400..<500).contains($0) } ?? false
    if request.errorType != nil || isRefused {
      changes.values[index].newestFailure = Example(request)
    }
  }

  /// Adds what the calls within a request took.
  mutating func add(_ time: UpstreamTime, route: String?, isAnswered: Bool) {
    let key = UpstreamKey(route: route, isAnswered: isAnswered)
    upstream[key, default: Upstream(route: route, isAnswered: isAnswered)].add(time)
  }

  /// - Parameter values: Those of the ``changed`` series now.
  func window(_ values: [SeriesID: Values], at now: Instant) -> Window {
    let past = now.nanoseconds &- start.nanoseconds
    let covered = max(0, min(past, Self.slotNanoseconds * Self.slotCount))
    let oldest = (now.nanoseconds &- covered) / Self.slotNanoseconds
    let slots = (slots + [slot(values)]).filter { $0.number >= oldest && !$0.isEmpty }
    let isWhole = start == firstStart && covered == past
    return Window(bounds: bounds, covered: covered, isWhole: isWhole, slots: slots)
  }

  /// The current slot, as far as it has come.
  private func slot(_ values: [SeriesID: Values]) -> Slot {
    var slot = Slot(number: number)
    for (id, change) in changes {
      if let now = values[id] { slot.additions.append(Addition(id, now, since: change)) }
    }
    slot.upstream = Array(upstream.values)
    slot.measure()
    return slot
  }

  /// Forgets the examples that those of a later slot make useless, whatever period is asked for.
  private mutating func forgetFaster(_ later: Slot) {
    let additions = Dictionary(later.additions.map { ($0.id, $0) }) { first, _ in first }
    for slot in slots.indices {
      for index in slots[slot].additions.indices {
        guard let later = additions[slots[slot].additions[index].id] else { continue }
        if let slowest = slots[slot].additions[index].slowest,
          slowest.nanoseconds <= later.slowest?.nanoseconds ?? .min
        {
          slots[slot].additions[index].slowest = nil
        }
        if later.newestFailure != nil { slots[slot].additions[index].newestFailure = nil }
      }
      bytes -= slots[slot].bytes
      slots[slot].measure()
      bytes += slots[slot].bytes
    }
  }
}

extension RequestHistory {
  /// What the calls within the requests of one route took in one slot. A request that fails at once takes
  /// less, so those that were answered are apart: their time is divided, as that of ``Addition``.
  package struct Upstream: Sendable {
    /// `nil` if none matched.
    package let route: String?
    /// As ``RequestObservation/isAnswered``.
    package let isAnswered: Bool
    /// The sum of the times in which calls were active.
    package internal(set) var upstream = Duration.zero
    package internal(set) var clients: [UpstreamTime.Client] = []

    mutating func add(_ time: UpstreamTime) {
      upstream += time.duration
      for client in time.clients {
        let index = clients.firstIndex { $0.name == client.name } ?? clients.count
        if index == clients.count { clients.append(UpstreamTime.Client(name: client.name)) }
        clients[index].requestCount += client.requestCount
        clients[index].nanoseconds &+= client.nanoseconds
      }
    }

    var bytes: Int {
      clients.reduce(MemoryLayout<Upstream>.stride + (route?.utf8.count ?? 0)) {
        $0 + MemoryLayout<UpstreamTime.Client>.stride + $1.name.utf8.count
      }
    }
  }
}
