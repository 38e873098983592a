import TapCore

/// Totals of the requests of the last ten minutes, in slots of five seconds.
///
/// A pure value: it reads no clock and takes no lock. Its size is bounded by ``slotCount``, ``partyLimit``, ``boundLimit`` and
/// ``kindLimit``: below 2 MiB, and 16 KiB for each party that has requests all the time.
struct HistoryWindow: Sendable {
  /// The labels by which the page tells requests apart.
  struct Party: Hashable, Sendable {
    let direction: RequestDirection
    var client: String?
    var address: String?
    var port: Int?
    var method: String?
    /// The template of the path. Of an inbound request it is its route.
    var template: String?
    /// Stands for all parties beyond ``partyLimit``.
    var isOther = false

    private var hasTemplate: Bool { direction == .outbound && template != nil }

    /// How many parties of the direction there may be before this one is counted with others.
    fileprivate var limit: Int {
      isOther ? .max : hasTemplate ? HistoryWindow.templateLimit : HistoryWindow.partyLimit
    }

    /// The party that stands for this one and others.
    fileprivate var coarser: Party {
      hasTemplate
        ? Party(direction: direction, client: client, address: address, port: port)
        : Party(direction: direction, isOther: true)
    }
  }

  /// What the requests of one party came to in one slot.
  struct Totals: Sendable, Equatable {
    /// The place of the party in ``HistoryWindow/parties``.
    let place: Int
    /// The sum of the durations, in seconds.
    var sum = 0.0
    /// How many failed, by error type or status code.
    var failures: [String: UInt32] = [:]
    /// The requests in each bucket, not cumulative, `+Inf` last.
    var counts: [UInt32]

    /// Status codes beyond ``HistoryWindow/kindLimit`` are counted together, and so are error types.
    fileprivate mutating func add(_ failure: String) {
      let isKept = failures[failure] != nil || failures.count < HistoryWindow.kindLimit
      failures[isKept ? failure : failure.hasPrefix("4") ? "4xx" : "_OTHER", default: 0] &+= 1
    }
  }

  struct Slot: Sendable, Equatable {
    /// Counted from the zero of the monotonic clock.
    let number: Int64
    var totals: [Totals] = []

    fileprivate mutating func add(_ nanoseconds: Int64, _ failure: String?, at place: Int, _ bounds: [Double])
    {
      let index = totals.firstIndex { $0.place == place } ?? totals.count
      if index == totals.count {
        totals.append(Totals(place: place, counts: Array(repeating: 0, count: bounds.count + 1)))
      }
      let seconds = Double(max(0, nanoseconds)) / 1e9
      totals[index].sum += seconds
      totals[index].counts[bounds.firstIndex { seconds <= $0 } ?? bounds.count] &+= 1
      if let failure { totals[index].add(failure) }
    }
  }

  /// A request that the page can open: one of the slowest of a party, or the newest that failed in its way.
  struct Kept: Sendable {
    let slot: Int64
    let nanoseconds: Int64
    let end: Timestamp
    let statusCode: Int?
    let errorType: String?
    let trace: TraceContext?
    let timings: RequestTimings
    let cutOffPhase: RequestTimings.Phase?
  }

  /// A class, whose constants are compared without a copy.
  private final class Found: Sendable {
    let party: Party
    let place: Int

    init(_ party: Party, _ place: Int) { (self.party, self.place) = (party, place) }
  }

  static let slotNanoseconds: Int64 = 5_000_000_000
  static let slotCount = 120
  /// The most parties of a direction in all slots, beside the one that stands for all others.
  static let partyLimit = 24
  /// The most of them that are told apart by method and template of the path, too.
  static let templateLimit = 16
  /// The most kinds of failures of a party in a slot, beside those that stand for all others.
  static let kindLimit = 4
  static let slowLimit = 16
  /// The most bounds of buckets. Of a longer list every second one is kept, or every third, and so on.
  static let boundLimit = 32

  /// The upper bounds of the buckets, without `+Inf`.
  let outboundBounds: [Double]
  let inboundBounds: [Double]
  private let start: Instant
  /// Only slots that have requests, the oldest first.
  private(set) var slots: [Slot] = []
  /// By place. `nil` is a free place.
  private(set) var parties: [Party?] = []
  /// By place: the slowest request of all slots, then that of the slots after its own, and so on.
  private(set) var slow: [[Kept]] = []
  /// By place: the newest request of each failure, at most ``kindLimit``.
  private(set) var failed: [[String: Kept]] = []
  private var places: [Party: Int] = [:]
  private var partyCounts: [RequestDirection: Int] = [:]
  /// What was found last in each direction: most requests are of the same party as the one before.
  private var latest: (outbound: Found?, inbound: Found?)

  init(outbound: HistogramBuckets, inbound: HistogramBuckets, start: Instant) {
    outboundBounds = Self.kept(outbound.upperBounds)
    inboundBounds = Self.kept(inbound.upperBounds)
    self.start = start
  }

  /// The time that the slots cover, in nanoseconds: that since the start, and at most ten minutes.
  func covered(at now: Instant) -> Int64 {
    max(0, min(now.nanoseconds &- start.nanoseconds, Self.slotNanoseconds * Int64(Self.slotCount)))
  }

  /// Adds a request that has ended: with an error type or a status code, if it failed.
  ///
  /// - Returns: The place of its party, or of the one that stands for it.
  @discardableResult
  mutating func add(_ party: Party, nanoseconds: Int64, failure: String?, at now: Instant) -> Int {
    advance(to: now)
    let place = place(of: party)
    let bounds = party.direction == .outbound ? outboundBounds : inboundBounds
    slots[slots.count - 1].add(nanoseconds, failure, at: place, bounds)
    return place
  }

  /// Keeps the request that was just added: if it failed, and while it is the slowest of its slot and of those after it.
  mutating func keep(_ observation: borrowing RequestObservation, failure: String?, at place: Int) {
    let slot = slots[slots.count - 1].number
    let isSlowest = slow[place].last.map { $0.slot < slot || $0.nanoseconds < observation.elapsed } ?? true
    guard isSlowest || failure != nil else { return }
    let kept = Kept(
      slot: slot, nanoseconds: observation.elapsed, end: observation.endTime,
      statusCode: observation.statusCode, errorType: observation.errorType,
      trace: observation.request.traceContext?.withoutSpan, timings: observation.timings,
      cutOffPhase: observation.cutOffPhase)
    if let failure {
      failed[place][failure] = kept
      if failed[place].count > Self.kindLimit,
        let oldest = failed[place].min(by: { $0.value.end < $1.value.end })
      {
        failed[place][oldest.key] = nil
      }
    }
    guard isSlowest else { return }
    slow[place].removeAll { $0.nanoseconds <= kept.nanoseconds || $0.slot <= slot - Int64(Self.slotCount) }
    // The slowest of all stays.
    if slow[place].count == Self.slowLimit { slow[place].remove(at: 1) }
    slow[place].append(kept)
  }

  /// Drops what is older than ten minutes, and begins the slot of this moment.
  private mutating func advance(to now: Instant) {
    let number = now.nanoseconds / Self.slotNanoseconds
    // A clock that goes back is taken for the current slot.
    if let last = slots.last, last.number >= number { return }
    slots.append(Slot(number: number))
    let count = slots.count
    slots.removeAll { $0.number <= number - Int64(Self.slotCount) }
    if slots.count == count { return }
    latest = (nil, nil)
    let used = Set(slots.lazy.flatMap(\.totals).map(\.place))
    for (place, party) in parties.enumerated() {
      guard let party, !used.contains(place) else { continue }
      parties[place] = nil
      slow[place] = []
      failed[place] = [:]
      places[party] = nil
      partyCounts[party.direction, default: 0] -= 1
    }
  }

  /// The place of a party, or of the one that stands for the others of its direction.
  private mutating func place(of party: Party) -> Int {
    let isOutbound = party.direction == .outbound
    if let latest = isOutbound ? latest.outbound : latest.inbound, latest.party == party {
      return latest.place
    }
    let found = Found(party, findPlace(of: party))
    if isOutbound { latest.outbound = found } else { latest.inbound = found }
    return found.place
  }

  private mutating func findPlace(of party: Party) -> Int {
    if let place = places[party] { return place }
    // The one that stands for all others has a place of its own.
    let count = partyCounts[party.direction, default: 0]
    if count - (places[Party(direction: party.direction, isOther: true)] == nil ? 0 : 1) >= party.limit {
      return findPlace(of: party.coarser)
    }
    partyCounts[party.direction] = count + 1
    let place = parties.firstIndex { $0 == nil } ?? parties.count
    if place == parties.count {
      parties.append(party)
      slow.append([])
      failed.append([:])
    } else {
      parties[place] = party
    }
    places[party] = place
    return place
  }

  /// At most ``boundLimit`` of the bounds, the last one among them.
  private static func kept(_ bounds: [Double]) -> [Double] {
    let step = (bounds.count + boundLimit - 1) / boundLimit
    guard step > 1 else { return bounds }
    return bounds.indices.filter { (bounds.count - 1 - $0) % step == 0 }.map { bounds[$0] }
  }
}
