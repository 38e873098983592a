/// The books of started and ended requests.
///
/// Started and ended stand in one entry and are read together, and what is active is their difference: started =
/// ended + active holds in every snapshot, whatever is going on. An entry is never removed, so that a request
/// ends in the entry where it started.
struct RequestLedger: Sendable {
  private let limit: Int
  private var slots: [RequestTarget: Int] = [:]
  /// Where the requests of a client go when there is no room for their target.
  private var overflowSlots: [String: Int] = [:]
  private(set) var entries: [Entry] = []
  private(set) var overflowCount: UInt64 = 0

  init(limit: Int) {
    self.limit = max(0, limit)
  }

  mutating func start(_ target: RequestTarget) {
    if let slot = slots[target] ?? newSlot(for: target) {
      entries[slot].started &+= 1
    } else {
      overflowCount &+= 1
      entries[overflowSlot(of: target.client)].started &+= 1
    }
  }

  mutating func end(_ target: RequestTarget, cancelled: Bool) {
    let slot = slots[target] ?? overflowSlot(of: target.client)
    entries[slot].ended &+= 1
    if cancelled { entries[slot].cancelled &+= 1 }
  }

  private mutating func newSlot(for target: RequestTarget) -> Int? {
    guard slots.count < limit else { return nil }
    slots[target] = entries.count
    entries.append(Entry(client: target.client, labels: RenderedLabels(target.pairs)))
    return entries.count - 1
  }

  /// Clients are named by the app and few; their names are bounded all the same.
  private mutating func overflowSlot(of client: String) -> Int {
    let client = overflowSlots[client] != nil || overflowSlots.count < limit ? client : ""
    if let slot = overflowSlots[client] { return slot }
    overflowSlots[client] = entries.count
    entries.append(Entry(client: client, labels: .overflow))
    return entries.count - 1
  }

  /// The counts of one target.
  struct Entry: Sendable {
    let client: String
    let labels: RenderedLabels
    var started: UInt64 = 0
    var ended: UInt64 = 0
    var cancelled: UInt64 = 0

    init(client: String, labels: RenderedLabels) {
      self.client = client
      self.labels = labels
    }
  }
}
