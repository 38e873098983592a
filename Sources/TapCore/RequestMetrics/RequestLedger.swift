/// The books of started and ended requests.
///
/// Started and ended stand in one entry and are read together, and what is active is their difference: started =
/// ended + active holds in every snapshot, whatever is going on. A request ends in the entry where it started, which is
/// found by its labels both times: an entry with active requests is never removed, and none is opened for a target as long
/// as requests for it that found no room may be active.
struct RequestLedger: Sendable {
  private let options: SeriesOptions
  private var index = HashIndex()
  private var accounts: [Account] = []
  /// Beside the accounts and not in them: a snapshot then copies plain numbers.
  private var counts: [Counts] = []
  private var targetCount = 0
  /// Where the requests of a client go when there is no room for their target.
  private var overflowNumbers: [String: Int] = [:]
  /// How many requests are active that found no room, by the lowest bits of their targets' hashes: a bound on those of each
  /// target. Empty until there is one.
  private var activeInOverflow: [UInt32] = []
  /// What the expired accounts of a client had counted.
  private var expired: [String: Counts] = [:]
  private(set) var overflowCount: UInt64 = 0

  init(_ options: SeriesOptions) {
    self.options = options
  }

  /// Counts a start; `false`, with nothing done, if the target has no account yet.
  @inline(__always)
  mutating func start(_ request: RequestDescription, method: Int, hash: UInt64) -> Bool {
    guard let number = number(of: request, method: method, hash: hash) else { return false }
    counts[number].started &+= 1
    return true
  }

  /// Counts a start in the client's overflow; `false`, with nothing done, if the target may have an account of its own.
  mutating func startInOverflow(of client: String, hash: UInt64) -> Bool {
    let slot = Self.overflowSlot(hash)
    guard targetCount >= options.limit || !activeInOverflow.isEmpty && activeInOverflow[slot] > 0 else {
      return false
    }
    if activeInOverflow.isEmpty { activeInOverflow = Array(repeating: 0, count: Self.overflowSlotCount) }
    activeInOverflow[slot] &+= 1
    overflowCount &+= 1
    counts[overflowNumber(of: client)].started &+= 1
    return true
  }

  /// Opens an account, or takes the client's for what has no room, and counts a start.
  mutating func startFirst(
    _ target: RequestTarget, request: RequestDescription, hash: UInt64, labels: RenderedLabels
  ) {
    if start(request, method: target.method, hash: hash) { return }
    if startInOverflow(of: target.client, hash: hash) { return }
    targetCount += 1
    index.insert(accounts.count, hash: hash)
    open(
      Account(
        target: target, client: target.client, labels: labels, hash: hash, expires: options.idleExpiry != nil)
    )
    counts[counts.count - 1].started = 1
  }

  /// Counts an end.
  @inline(__always)
  mutating func end(
    _ request: RequestDescription, method: Int, hash: UInt64, cancelled: Bool, redirects: Int
  ) {
    let number =
      number(of: request, method: method, hash: hash) ?? endInOverflow(of: request.client, hash: hash)
    counts[number].ended &+= 1
    if cancelled { counts[number].cancelled &+= 1 }
    if redirects > 0 { counts[number].addRedirects(UInt64(redirects)) }
  }

  private mutating func endInOverflow(of client: String, hash: UInt64) -> Int {
    let slot = Self.overflowSlot(hash)
    if !activeInOverflow.isEmpty, activeInOverflow[slot] > 0 { activeInOverflow[slot] -= 1 }
    return overflowNumber(of: client)
  }

  private static let overflowSlotCount = 1_024

  private static func overflowSlot(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash) & (overflowSlotCount - 1)
  }

  /// The accounts and what stands in them.
  var entries: some Sequence<(account: Account, counts: Counts)> {
    zip(accounts, counts).lazy.map { (account: $0, counts: $1) }
  }

  /// The counts of each client.
  var clients: [String: Counts] {
    entries.reduce(into: expired) { $0[$1.account.client, default: Counts()].add($1.counts) }
  }

  /// Drops the targets that have been idle for too long and have nothing active. What they counted stays with
  /// their clients.
  mutating func expire(at now: ContinuousClock.Instant) {
    guard let expiry = options.leastIdleTime else { return }
    var kept: [(Account, Counts)] = []
    for (account, counts) in entries {
      if let mark = account.idleMark, counts.started == counts.ended,
        mark.idleTime(at: now, activity: counts.ended) >= expiry
      {
        expired[account.client, default: Counts()].add(counts)
      } else {
        kept.append((account, counts))
      }
    }
    if kept.count < accounts.count { rebuild(kept) }
  }

  @inline(__always)
  private func number(
    of request: RequestDescription, method: Int, hash: UInt64
  ) -> Int? {
    index.first(hash) { accounts[$0].target?.matches(request, method: method) == true }
  }

  /// Clients are named by the app and few; their names are bounded all the same.
  private mutating func overflowNumber(of client: String) -> Int {
    if let number = overflowNumbers[client] { return number }
    let client = overflowNumbers.count < options.limit ? client : ""
    if let number = overflowNumbers[client] { return number }
    overflowNumbers[client] = accounts.count
    open(Account(target: nil, client: client, labels: .overflow, hash: 0, expires: false))
    return accounts.count - 1
  }

  private mutating func open(_ account: Account) {
    accounts.append(account)
    counts.append(Counts())
  }

  private mutating func rebuild(_ kept: [(Account, Counts)]) {
    accounts = kept.map(\.0)
    counts = kept.map(\.1)
    targetCount = 0
    index.removeAll()
    overflowNumbers = [:]
    for (number, account) in accounts.enumerated() {
      if account.target == nil {
        overflowNumbers[account.client] = number
      } else {
        index.insert(number, hash: account.hash)
        targetCount += 1
      }
    }
  }

  /// One target, or the targets of one client that found no room.
  struct Account: Sendable {
    /// `nil` for what found no room.
    fileprivate let target: RequestTarget?
    let client: String
    let labels: RenderedLabels
    fileprivate let hash: UInt64
    fileprivate let idleMark: IdleMark?

    fileprivate init(
      target: RequestTarget?, client: String, labels: RenderedLabels, hash: UInt64, expires: Bool
    ) {
      self.target = target
      self.client = client
      self.labels = labels
      self.hash = hash
      idleMark = expires ? IdleMark() : nil
    }
  }

  /// What is counted.
  struct Counts: Sendable, Hashable {
    fileprivate(set) var started: UInt64 = 0
    fileprivate(set) var ended: UInt64 = 0
    fileprivate(set) var cancelled: UInt64 = 0
    fileprivate(set) var redirects: UInt64 = 0

    fileprivate mutating func add(_ other: Counts) {
      started &+= other.started
      ended &+= other.ended
      cancelled &+= other.cancelled
      addRedirects(other.redirects)
    }

    /// A counter never goes down: at the end of its range it stays.
    fileprivate mutating func addRedirects(_ count: UInt64) {
      let (sum, isTooLarge) = redirects.addingReportingOverflow(count)
      redirects = isTooLarge ? .max : sum
    }
  }
}
