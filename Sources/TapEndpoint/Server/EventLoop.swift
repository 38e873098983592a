import TapCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Serves all connections on one thread: it moves bytes and events between sockets, clocks and handlers, and the state
/// machines of the connections decide. Only that thread uses it; all others leave their work in its queue.
///
/// It waits by poll(2), whose cost grows with the number of connections, but is the same on all systems: some 10 µs for the
/// default limit of connections.
final class EventLoop {
  let queue: EventLoopQueue
  let router: Router
  /// `nil` where no request needs credentials.
  let authenticator: Authenticator?
  let limits: Endpoint.Configuration.Limits
  let logRefusal: (@Sendable (String) -> Void)?
  var connections: ConnectionTable
  /// The requests that wait for a handler of the app.
  var requestsInFlight = 0
  /// The scrapes whose gathering has not ended.
  var scrapesInFlight = 0
  var refusals = RefusalLog()
  var clock = EventClock()

  /// `nil` once the loop is drained.
  private var listener: ListeningSocket?
  /// While the process has no descriptors: when to accept again. Until then, new connections stay in the system's queue.
  private var nextAccept: ContinuousClock.Instant?
  private var nextID: Connection.ID = 0
  private var completions: [@Sendable () -> Void] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  private init(
    _ queue: EventLoopQueue, _ listener: ListeningSocket, _ router: Router, _ authenticator: Authenticator?,
    _ configuration: Endpoint.Configuration
  ) {
    self.queue = queue
    self.listener = listener
    self.router = router
    self.authenticator = authenticator
    limits = configuration.limits
    logRefusal = configuration.logRefusal
    connections = ConnectionTable(limit: limits.connections)
  }

  /// Serves a socket on a thread of its own, until it is drained. Takes ownership of the socket if it does not throw.
  static func start(
    _ socket: ListeningSocket, _ router: Router, _ authenticator: Authenticator?,
    _ configuration: Endpoint.Configuration
  ) throws(EndpointError) -> EventLoopQueue {
    guard let queue = EventLoopQueue() else { throw ListeningSocket.failure(errno, socket.address) }
    do throws(BackgroundThread.Failure) {
      try BackgroundThread.start { EventLoop(queue, socket, router, authenticator, configuration).run() }
    } catch {
      throw ListeningSocket.failure(error.code, socket.address)
    }
    return queue
  }

  private func run() {
    var polled: [pollfd] = []
    while listener != nil || !connections.open.isEmpty {
      // Those that wait for an event, in the order of what is polled behind the first two.
      let waiting = Array(connections.open.values)
      polled.removeAll(keepingCapacity: true)
      polled.append(pollfd(fd: queue.wakeDescriptor, events: Int16(POLLIN), revents: 0))
      let accepting = nextAccept == nil ? listener?.descriptor : nil
      polled.append(pollfd(fd: accepting ?? -1, events: Int16(POLLIN), revents: 0))
      var deadline = nextAccept
      for connection in waiting {
        polled.append(connection.awaited)
        deadline = min(deadline ?? connection.state.deadline, connection.state.deadline)
      }
      guard poll(&polled, nfds_t(polled.count), Self.milliseconds(until: deadline)) >= 0 else {
        // There are more connections than the process may have descriptors, a limit that the app may lower at any time.
        if errno != EINTR, !makeRoom(except: nil) { usleep(10_000) }
        continue
      }
      if polled[0].revents != 0 { for work in queue.take() { work(self) } }
      for (connection, events) in zip(waiting, polled.dropFirst(2)) where events.revents != 0 {
        serve(connection, Int32(events.revents))
      }
      if polled[1].revents != 0 { acceptConnections() }
      if let deadline, deadline <= .now { checkDeadlines() }
    }
    for work in queue.end() { work(self) }
    for completion in completions { completion() }
  }

  /// A time limit for poll(2), rounded up; -1 is none.
  private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
    guard let deadline else { return -1 }
    let time = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
    return Int32(min(max(time, 0), 86_400_000).rounded(.up))
  }

  // MARK: New connections

  private func acceptConnections() {
    guard let listener else { return }
    connections.updateCapacity(at: .now)
    // Bounded, so that a flood of new connections leaves time to the open ones.
    for _ in 0..<64 {
      switch listener.accept() {
      case .connection(let descriptor):
        let state = ConnectionState(limits: limits, at: clock.now())
        let connection = Connection(id: nextID, descriptor: descriptor, state: state)
        nextID += 1
        connections.open[connection.id] = connection
        connections.noteAccepted(descriptor, at: .now)
        if connections.open.count > connections.capacity, !makeRoom(except: connection) {
          close(connection, reset: true)
        }
      case .none:
        return
      case .exhausted:
        connections.noteShortage(at: .now)
        // If it is the app that has taken all descriptors, it may give some back until the next attempt.
        if !makeRoom(except: nil) { nextAccept = .now + .milliseconds(100) }
        return
      }
    }
  }

  private func makeRoom(except kept: Connection?) -> Bool {
    guard let connection = connections.firstToClose(except: kept) else { return false }
    close(connection, reset: !connection.state.output.isEmpty)
    return true
  }

  // MARK: Events

  /// An error or a hangup shows in the call that is waited for.
  private func serve(_ connection: Connection, _ events: Int32) {
    guard !connection.isClosed else { return }
    if events & ~POLLIN != 0 { connection.state.isWriteBlocked = false }
    if events & ~POLLOUT != 0, connection.state.wantsInput { connection.receive(into: &buffer) }
    advance(connection)
  }

  private func checkDeadlines() {
    nextAccept = nil
    let time = clock.now()
    for connection in connections.open.values where connection.state.deadline <= time.instant {
      connection.state.deadlinePassed(at: time)
      advance(connection)
    }
  }

  /// Performs the connection's actions until it waits for an event.
  func advance(_ connection: Connection) {
    let time = clock.now()
    while true {
      switch connection.state.nextAction(at: time) {
      case .handle(let request, let id): handle(request, id, on: connection, at: time)
      case .refused(let failure): log(failure.status, failure.reason, on: connection, at: time)
      case .write: connection.write(at: time)
      case .shutdownOutput: connection.endOutput()
      case .close(let reset): return close(connection, reset: reset)
      case .wait: return releasePlace(of: connection)
      }
    }
  }

  private func close(_ connection: Connection, reset: Bool) {
    connections.open[connection.id] = nil
    connection.close(reset: reset)
    nextAccept = nil
    releasePlace(of: connection)
  }

  // MARK: Shutdown

  /// Stops accepting, and lets the connections end in order. The last of them ends the loop.
  func drain(then completion: @escaping @Sendable () -> Void = {}) {
    listener?.close()
    listener = nil
    completions.append(completion)
    for connection in connections.open.values {
      connection.state.drain()
      advance(connection)
    }
  }

  /// Closes what is left.
  func abort() {
    for connection in connections.open.values { close(connection, reset: true) }
  }
}

/// Reads the clocks for the connections. The date is encoded again only when its second has changed.
struct EventClock {
  private var second: Int64 = .min
  private var date: [UInt8] = []

  mutating func now() -> EventTime {
    let current = Timestamp.now.nanosecondsSinceEpoch / 1_000_000_000
    if current != second {
      second = current
      date = EventTime.date(secondsSinceEpoch: current)
    }
    return EventTime(instant: .now, date: date)
  }
}
