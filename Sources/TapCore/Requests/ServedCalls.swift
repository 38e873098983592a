import Synchronization

/// The calls that the app makes within one served request: how many, of which clients, and the time in which
/// at least one was active.
///
/// The trace of the served request leads here (``TraceContext/served``), as do the traces of what is made
/// within it. A count that goes up and down is exact for serial, parallel and overlapping calls, without a
/// list of them.
package final class ServedCalls: Sendable {
  /// The most clients of a served request. The calls of further ones count as those of `_OTHER`.
  static let clientLimit = 64
  fileprivate static let otherClients = "_OTHER"

  fileprivate struct State {
    var hasEnded = false
    var activeCount = 0
    /// Since when at least one is active.
    var since = Instant(nanoseconds: 0)
    /// The latest end of a call, and up to when the time is counted. Threads may read the clock in one order
    /// and come here in the other.
    var (latest, counted) = (Instant(nanoseconds: 0), Instant(nanoseconds: 0))
    /// Of a client's calls, the instants of their ends minus those of their begins: with the current instant
    /// for each active one, that is the sum of their durations. It may wrap around in between.
    var time = UpstreamTime()
  }

  /// The recorder of the served request.
  private let recorder: ObjectIdentifier
  private let state = Mutex(State())

  init(of recorder: RequestRecorder) { self.recorder = ObjectIdentifier(recorder) }

  /// Whether a recorder records the served request.
  package func areRecorded(by recorder: RequestRecorder) -> Bool {
    ObjectIdentifier(recorder) == self.recorder
  }

  /// Notes that a call begins.
  ///
  /// - Returns: The index of its client, for its end; `nil` if the served request has ended.
  func enter(_ client: String, at now: Instant) -> Int? {
    state.withLock { state -> Int? in
      if state.hasEnded { return nil }
      let index = state.index(of: client)
      state.time.clients[index].requestCount += 1
      state.enter(index, at: now)
      return index
    }
  }

  /// Notes that a call begins that had been given up before its begin.
  func enterAgain(_ client: Int, at now: Instant) { state.withLock { $0.enter(client, at: now) } }

  /// Notes that a call ends. Does nothing once the served request has ended.
  func leave(_ client: Int, at now: Instant) {
    state.withLock { state in
      if state.hasEnded { return }
      state.leave(client, at: now)
    }
  }

  /// Ends the served request: what comes later counts nowhere.
  ///
  /// - Returns: What its calls took until now, `nil` without any.
  func end(at now: Instant) -> UpstreamTime? {
    state.withLock { state in
      state.hasEnded = true
      return state.time(at: now)
    }
  }

  /// What the calls have taken until now, `nil` without any.
  func time(at now: Instant) -> UpstreamTime? { state.withLock { $0.time(at: now) } }
}

extension ServedCalls.State {
  fileprivate mutating func enter(_ client: Int, at now: Instant) {
    since = activeCount == 0 ? max(now, counted) : min(since, max(now, counted))
    activeCount += 1
    time.clients[client].activeCount += 1
    time.clients[client].nanoseconds &-= now.nanoseconds
  }

  fileprivate mutating func leave(_ client: Int, at now: Instant) {
    latest = max(latest, now)
    activeCount -= 1
    time.clients[client].activeCount -= 1
    time.clients[client].nanoseconds &+= now.nanoseconds
    guard activeCount == 0 else { return }
    time.nanoseconds += activeTime(at: now)
    counted = max(counted, latest)
  }

  /// The index of a client, which is added if it is new.
  fileprivate mutating func index(of client: String) -> Int {
    if let index = time.clients.firstIndex(where: { $0.name == client }) { return index }
    let isFull = time.clients.count >= ServedCalls.clientLimit
    if isFull, client != ServedCalls.otherClients { return index(of: ServedCalls.otherClients) }
    time.clients.append(UpstreamTime.Client(name: client))
    return time.clients.count - 1
  }

  /// Of the calls that are active, or of the last of them, which leaves.
  fileprivate func activeTime(at now: Instant) -> Int64 {
    max(0, max(now, latest).nanoseconds &- since.nanoseconds)
  }

  fileprivate func time(at now: Instant) -> UpstreamTime? {
    if time.clients.isEmpty { return nil }
    var time = time
    if activeCount > 0 { time.nanoseconds += activeTime(at: now) }
    for index in time.clients.indices {
      let active = Int64(time.clients[index].activeCount) &* now.nanoseconds
      time.clients[index].nanoseconds = max(0, time.clients[index].nanoseconds &+ active)
    }
    return time
  }
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
    package var activeCount = 0
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

  /// The time in which at least one call was active.
  public var duration: Duration { .nanoseconds(nanoseconds) }
  /// The number of calls.
  public var requestCount: Int { clients.reduce(0) { $0 + $1.requestCount } }
}
