/// The books of started and ended requests.
///
/// Started and ended stand in one entry and are read together, and what is active is their difference: started =
/// ended + active holds in every snapshot, whatever is going on. An entry with active requests is never removed,
/// so that a request ends in the entry where it started.
struct RequestLedger: Sendable {
  private let options: SeriesOptions
  private var slots: [RequestTarget: Int] = [:]
  private var freeSlots: [Int] = []
  /// Where the requests of a client go when there is no room for their target.
  private var overflowSlots: [String: Int] = [:]
  /// `nil` where an entry has expired.
  private var slotEntries: [Entry?] = []
  /// What the expired entries of a client had counted.
  private var expired: [String: Counts] = [:]
  private(set) var overflowCount: UInt64 = 0

  init(_ options: SeriesOptions) {
    self.options = options
  }

  mutating func start(_ target: RequestTarget) {
    if let slot = slots[target] ?? newSlot(for: target) {
      slotEntries[slot]?.counts.started &+= 1
    } else {
      overflowCount &+= 1
      slotEntries[overflowSlot(of: target.client)]?.counts.started &+= 1
    }
  }

  mutating func end(_ target: RequestTarget, cancelled: Bool) {
    let slot = slots[target] ?? overflowSlot(of: target.client)
    slotEntries[slot]?.counts.ended &+= 1
    if cancelled { slotEntries[slot]?.counts.cancelled &+= 1 }
  }

  /// The counts of each target.
  var entries: [Entry] { slotEntries.compactMap { $0 } }

  /// The counts of each client.
  var clients: [String: Counts] {
    entries.reduce(into: expired) { $0[$1.client, default: Counts()].add($1.counts) }
  }

  /// Drops the targets that have been idle for too long and have nothing active. What they counted stays with
  /// their clients.
  mutating func expire(at now: ContinuousClock.Instant) {
    guard let expiry = options.idleExpiry else { return }
    for (target, slot) in slots {
      guard let entry = slotEntries[slot], entry.counts.started == entry.counts.ended,
        let mark = entry.idleMark, mark.idleTime(at: now, activity: entry.counts.ended) >= expiry
      else { continue }
      expired[entry.client, default: Counts()].add(entry.counts)
      slots[target] = nil
      slotEntries[slot] = nil
      freeSlots.append(slot)
    }
  }

  private mutating func newSlot(for target: RequestTarget) -> Int? {
    guard slots.count < options.limit else { return nil }
    let slot = makeSlot(
      Entry(
        client: target.client, labels: RenderedLabels(target.pairs), expires: options.idleExpiry != nil))
    slots[target] = slot
    return slot
  }

  /// Clients are named by the app and few; their names are bounded all the same.
  private mutating func overflowSlot(of client: String) -> Int {
    let client = overflowSlots[client] != nil || overflowSlots.count < options.limit ? client : ""
    if let slot = overflowSlots[client] { return slot }
    let slot = makeSlot(Entry(client: client, labels: .overflow, expires: false))
    overflowSlots[client] = slot
    return slot
  }

  private mutating func makeSlot(_ entry: Entry) -> Int {
    if let slot = freeSlots.popLast() {
      slotEntries[slot] = entry
      return slot
    }
    slotEntries.append(entry)
    return slotEntries.count - 1
  }

  /// The counts of one target, or of the targets of one client that found no room.
  struct Entry: Sendable {
    let client: String
    let labels: RenderedLabels
    fileprivate let idleMark: IdleMark?
    fileprivate(set) var counts = Counts()

    fileprivate init(client: String, labels: RenderedLabels, expires: Bool) {
      self.client = client
      self.labels = labels
      idleMark = expires ? IdleMark() : nil
    }
  }

  /// What is counted.
  struct Counts: Sendable, Hashable {
    fileprivate(set) var started: UInt64 = 0
    fileprivate(set) var ended: UInt64 = 0
    fileprivate(set) var cancelled: UInt64 = 0

    fileprivate mutating func add(_ other: Counts) {
      started &+= other.started
      ended &+= other.ended
      cancelled &+= other.cancelled
    }
  }
}
