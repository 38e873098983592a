/// What each five seconds of the last ten minutes added to the durations of a direction's ended requests, by
/// the series of the metric. The page and `/why` read it.
///
/// It is the difference of the values that a scrape shows, so that both add up alike. It takes at most
/// ``byteLimit``: beyond that the oldest five seconds go, and ``Window/covered`` says so.
package struct RequestHistory: Sendable {
  package static let slotNanoseconds: Int64 = 5_000_000_000
  static let slotCount: Int64 = 120
  static let byteLimit = 3 << 20

  /// The number of the slot in which a moment is.
  package static func slot(at now: Instant) -> Int64 { now.nanoseconds / slotNanoseconds }

  /// The values of a series: before the first request of the current slot, or now.
  struct Values: Sendable {
    let labels: RenderedLabels
    let sum: Double
    let counts: [UInt64]
  }

  /// A series that has requests in the current slot.
  struct Change: Sendable {
    let before: Values
    private(set) var account = Account()
    private(set) var slowest: Example?
    private(set) var newestFailure: Example?

    mutating func add(_ request: borrowing RequestObservation) {
      account.add(request)
      if slowest.map({ $0.nanoseconds < request.duration.nanoseconds }) ?? true {
        slowest = Example(request)
      }
      // A 4xx that the app answers with has no error type, because it is the caller's mistake.
      let isRefused =
        request.end != .cancelled && request.statusCode.map { (400..<500).contains($0) } ?? false
      if request.errorType != nil || isRefused { newestFailure = Example(request) }
    }
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
  private var upstream: [Route: UpstreamTime] = [:]
  private var bytes = 0
  /// When the last slot ended, and the processor time by then.
  private var closed: (time: Instant, processor: Int64)?

  init(bounds: [Double], start: Instant) {
    (self.bounds, self.start, firstStart) = (bounds, start, start)
  }

  /// The series that have changed in the current slot.
  var changed: [SeriesID] { Array(changes.keys) }

  /// Whether the current slot is over: it has to be closed before a series changes or goes.
  func mustClose(at now: Instant) -> Bool { Self.slot(at: now) > number }

  /// Begins the slot of this moment.
  ///
  /// - Parameter values: Those of the ``changed`` series, without those that are gone.
  mutating func close(_ values: [SeriesID: Values], at now: Instant) {
    let processor = System.processorNanoseconds
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
    number = Self.slot(at: now)
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
    if let index = changes.index(forKey: id) { changes.values[index].add(request) }
  }

  /// Adds what the calls within a request took.
  mutating func add(_ time: UpstreamTime, route: String?, isAnswered: Bool) {
    upstream[Route(path: route, isAnswered: isAnswered), default: UpstreamTime()].add(time)
  }

  /// - Parameter values: Those of the ``changed`` series now.
  func window(_ values: [SeriesID: Values], at now: Instant) -> Window {
    let past = now.nanoseconds &- start.nanoseconds
    let covered = max(0, min(past, Self.slotNanoseconds * Self.slotCount))
    let oldest = Self.slot(at: Instant(nanoseconds: now.nanoseconds &- covered))
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
    slot.upstream = upstream
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
