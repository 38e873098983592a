/// The calls that the app makes within one served request: how many, of which clients, and the time in which
/// at least one was active. The record of the served request keeps them under its lock.
///
/// A count that goes up and down is exact for serial, parallel and overlapping calls, without a list of them.
struct ServedCalls: Sendable {
  /// The most clients of a served request. The calls of further ones count as those of `_OTHER`.
  static let clientLimit = 64

  private var activeCount = 0
  /// Since when at least one is active.
  private var since = Instant(nanoseconds: 0)
  /// The latest end of a call, and up to when the time is counted. Threads may read the clock in one order
  /// and come here in the other.
  private var (latest, counted) = (Instant(nanoseconds: 0), Instant(nanoseconds: 0))
  /// Of a client's calls, the instants of their ends minus those of their begins: with the current instant
  /// for each active one, that is the sum of their durations. It may wrap around in between.
  private var time = UpstreamTime()

  /// Notes that a call begins.
  ///
  /// - Returns: The index of its client, for its end.
  mutating func enter(_ client: String, at now: Instant) -> Int {
    let index = index(of: client)
    time.clients[index].requestCount += 1
    enterAgain(index, at: now)
    return index
  }

  /// Notes that a call begins that had been given up before its begin.
  mutating func enterAgain(_ client: Int, at now: Instant) {
    since = activeCount == 0 ? max(now, counted) : min(since, max(now, counted))
    activeCount += 1
    time.clients[client].activeCount += 1
    time.clients[client].nanoseconds &-= now.nanoseconds
  }

  /// Notes that a call ends.
  mutating func leave(_ client: Int, at now: Instant) {
    latest = max(latest, now)
    activeCount -= 1
    time.clients[client].activeCount -= 1
    time.clients[client].nanoseconds &+= now.nanoseconds
    guard activeCount == 0 else { return }
    time.nanoseconds += activeTime(at: now)
    counted = max(counted, latest)
  }

  /// What the calls have taken until now, `nil` without any.
  func time(at now: Instant) -> UpstreamTime? {
    if time.clients.isEmpty { return nil }
    var time = time
    if activeCount > 0 { time.nanoseconds += activeTime(at: now) }
    for index in time.clients.indices {
      let active = Int64(time.clients[index].activeCount) &* now.nanoseconds
      time.clients[index].nanoseconds = max(0, time.clients[index].nanoseconds &+ active)
    }
    return time
  }

  /// The index of a client, which is added if it is new.
  private mutating func index(of client: String) -> Int {
    if let index = time.clients.firstIndex(where: { $0.name == client }) { return index }
    let isFull = time.clients.count >= Self.clientLimit
    if isFull, client != RequestLabels.other { return index(of: RequestLabels.other) }
    time.clients.append(UpstreamTime.Client(name: client))
    return time.clients.count - 1
  }

  /// Of the calls that are active, or of the last of them, which leaves.
  private func activeTime(at now: Instant) -> Int64 {
    max(0, max(now, latest).nanoseconds &- since.nanoseconds)
  }
}

/// A call within a served request.
struct ServedCall: Sendable {
  private let served: RequestRecord
  /// The index of its client.
  private let client: Int

  var servedID: ObjectIdentifier { ObjectIdentifier(served) }

  /// Notes that a call begins. `nil` if it is made within no served request, or within one that has ended.
  init?(_ call: borrowing RequestDescription, at now: @autoclosure () -> Instant) {
    guard call.direction == .outbound, let served = call.traceContext?.served else { return nil }
    let (name, now) = (call.client, now())
    guard let client = served.withCalls({ $0.enter(name, at: now) }) else { return nil }
    (self.served, self.client) = (served, client)
  }

  /// Notes that the call begins after it had been given up.
  func enterAgain(at now: Instant) { served.withCalls { $0.enterAgain(client, at: now) } }

  /// Notes that the call ends.
  func leave(at now: Instant) { served.withCalls { $0.leave(client, at: now) } }
}

/// What the calls of a served request took.
public struct UpstreamTime: Sendable, Equatable {
  /// The calls of one client.
  public struct Client: Sendable, Equatable {
    /// The name of the client.
    public let name: String
    /// The number of the calls.
    public package(set) var requestCount = 0
    /// How many of them are active.
    var activeCount = 0
    package var nanoseconds: Int64 = 0

    /// The sum of their durations, more than the time that passed if they ran beside each other.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    package init(name: String, requestCount: Int = 0, nanoseconds: Int64 = 0) {
      (self.name, self.requestCount, self.nanoseconds) = (name, requestCount, nanoseconds)
    }
  }

  /// By client, in the order of their first calls: 64 at most, then `_OTHER`.
  public package(set) var clients: [Client] = []
  package var nanoseconds: Int64 = 0

  package init() {}

  /// Adds what the calls of another served request took.
  mutating func add(_ other: UpstreamTime) {
    nanoseconds &+= other.nanoseconds
    for client in other.clients {
      guard let index = clients.firstIndex(where: { $0.name == client.name }) else {
        clients.append(client)
        continue
      }
      clients[index].requestCount += client.requestCount
      clients[index].nanoseconds &+= client.nanoseconds
    }
  }

  /// The time in which at least one call was active.
  public var duration: Duration { .nanoseconds(nanoseconds) }
  /// The number of calls.
  public var requestCount: Int { clients.reduce(0) { $0 + $1.requestCount } }
}
