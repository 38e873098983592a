import TapCore

/// Serves all connections on one thread: it moves bytes and events between sockets, clocks and handlers, and the state
/// machines of the connections decide.
actor EventLoop {
  /// What is polled beside the connections.
  private static let (listenerID, wakeID) = (UInt64.max, UInt64.max - 1)
  /// A deadline is noticed at most this much late. It bounds how often all connections are visited.
  private static let granularity = Duration.milliseconds(20)

  private nonisolated let thread: EventLoopThread
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  let router: Router
  /// `nil` where no request needs credentials.
  let authenticator: Authenticator?
  /// `nil` where a request may name any host.
  let hosts: AllowedHosts?
  let limits: Endpoint.Configuration.Limits
  let logRefusal: (@Sendable (String) -> Void)?
  let overdue: OverdueHandlers
  var connections: ConnectionTable
  /// The requests that wait for a handler of the app.
  var requestsInFlight = 0
  /// The handlers that run, by the path of their route, those whose requests are over among them.
  var runningHandlers: [String: Int] = [:]
  /// The scrapes whose gathering has not ended.
  var scrapesInFlight = 0
  /// Scrapes and all other answers have their own, so that neither takes the other's.
  var unsentScrapes = UnsentBodies()
  var unsentAnswers = UnsentBodies()
  var refusals = RefusalLog()
  var clock = EventClock()

  private var poller: Poller
  private var listener: ListeningSocket?
  private var isAccepting = true
  private var nextID: Connection.ID = 0
  /// When all deadlines are looked at. Most are moved before they pass, so this is not set with each of them.
  private var nextCheck: ContinuousClock.Instant?
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var shutdownDeadline: ContinuousClock.Instant?
  private var onEnd: [@Sendable () -> Void] = []

  init(
    _ listener: ListeningSocket, _ router: Router, _ authenticator: Authenticator?, _ hosts: AllowedHosts?,
    _ configuration: Endpoint.Configuration, _ overdue: OverdueHandlers
  ) throws(System.Failure) {
    self.listener = listener
    self.router = router
    self.authenticator = authenticator
    self.hosts = hosts
    self.overdue = overdue
    limits = configuration.limits
    logRefusal = configuration.logRefusal
    connections = ConnectionTable(limit: limits.connections)
    thread = try EventLoopThread()
    poller = try Poller()
    _ = poller.add(thread.wakeDescriptor, Self.wakeID, .input)
    _ = poller.add(listener.descriptor, Self.listenerID, .input)
  }

  deinit {
    poller.close()
  }

  /// Begins to accept.
  nonisolated func start() throws(System.Failure) {
    try thread.start { [self] in assumeIsolated { $0.turn() } }
  }

  nonisolated func perform(_ body: @escaping @Sendable (isolated EventLoop) -> Void) {
    thread.perform { self.assumeIsolated(body) }
  }

  private func turn() {
    for event in poller.wait(nextCheck.map { ContinuousClock.now.duration(to: $0) }) {
      switch event.id {
      case Self.wakeID: thread.clearWake()
      case Self.listenerID: acceptConnections()
      default: handle(event.events, on: event.id)
      }
    }
    if let nextCheck, nextCheck <= .now { checkDeadlines() }
  }

  // MARK: New connections

  private func acceptConnections() {
    guard let listener else { return }
    connections.updateCapacity(at: .now)
    do throws(System.Failure) {
      // Bounded, so that a flood of new connections leaves time to the open ones.
      for _ in 0..<64 {
        guard let descriptor = try listener.accept() else { return }
        guard let connection = open(descriptor) else { continue }
        connections.noteAccepted(descriptor, at: .now)
        if connections.open.count > connections.capacity, !makeRoom(except: connection) {
          close(connection, reset: true)
        }
      }
    } catch {
      connections.noteShortage(at: .now)
      // New connections stay in the system's queue.
      accept(false)
      // If it is the app that has taken all descriptors, it may give some back until the next attempt.
      if !makeRoom(except: nil) { schedule(.now + .milliseconds(80)) }
    }
  }

  private func accept(_ isWanted: Bool) {
    guard let listener, isWanted != isAccepting else { return }
    isAccepting = isWanted
    poller.change(listener.descriptor, Self.listenerID, to: isWanted ? .input : [])
  }

  private func open(_ descriptor: Int32) -> Connection? {
    let state = ConnectionState(limits: limits, at: clock.now())
    let connection = Connection(id: nextID, descriptor: descriptor, state: state)
    guard poller.add(descriptor, nextID, connection.events) else {
      System.close(descriptor)
      return nil
    }
    connections.open[nextID] = connection
    nextID += 1
    schedule(connection.state.deadline)
    return connection
  }

  private func makeRoom(except kept: Connection?) -> Bool {
    guard let connection = connections.firstToClose(except: kept) else { return false }
    close(connection, reset: !connection.state.output.isEmpty)
    return true
  }

  // MARK: Events

  private func handle(_ events: Poller.Events, on id: Connection.ID) {
    guard let connection = connections.open[id] else { return }
    if events.contains(.output) { connection.state.isWriteBlocked = false }
    if connection.state.wantsInput {
      // A failure shows in a read, behind the bytes that came before it.
      if !events.isDisjoint(with: [.input, .failure]) { connection.receive(into: &buffer) }
    } else if !events.isDisjoint(with: .failure) {
      connection.state.failed()
    }
    advance(connection)
  }

  private func schedule(_ deadline: ContinuousClock.Instant) {
    let deadline = deadline + Self.granularity
    nextCheck = min(nextCheck ?? deadline, deadline)
  }

  private func checkDeadlines() {
    nextCheck = nil
    let time = clock.now()
    if let shutdownDeadline, shutdownDeadline <= time.instant { return abort() }
    shutdownDeadline.map(schedule)
    accept(true)
    for connection in connections.open.values {
      if connection.state.deadline <= time.instant {
        connection.state.deadlinePassed(at: time)
        advance(connection)
      }
      if !connection.isClosed { schedule(connection.state.deadline) }
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
      case .wait(let input, let output, let deadline):
        release(connection)
        let events: Poller.Events = input ? (output ? [.input, .output] : .input) : output ? .output : []
        if connection.events != events {
          connection.events = events
          poller.change(connection.descriptor, connection.id, to: events)
        }
        return schedule(deadline)
      }
    }
  }

  private func close(_ connection: Connection, reset: Bool) {
    guard !connection.isClosed else { return }
    connections.open[connection.id] = nil
    poller.remove(connection.descriptor)
    connection.close(reset: reset)
    release(connection)
    accept(true)
    endIfDone()
  }

  // MARK: Shutdown

  /// Stops accepting, lets the connections end in order, and closes at the deadline what is left of them.
  func shutdown(by deadline: ContinuousClock.Instant, then completion: @escaping @Sendable () -> Void) {
    onEnd.append(completion)
    shutdownDeadline = min(shutdownDeadline ?? deadline, deadline)
    shutdownDeadline.map(schedule)
    closeListener()
    for connection in connections.open.values {
      connection.state.drain()
      advance(connection)
    }
    if deadline <= .now { abort() }
    endIfDone()
  }

  /// Closes everything.
  func abort() {
    closeListener()
    for connection in connections.open.values { close(connection, reset: true) }
    endIfDone()
  }

  private func closeListener() {
    guard let listener else { return }
    poller.remove(listener.descriptor)
    listener.close()
    self.listener = nil
  }

  private func endIfDone() {
    guard listener == nil, connections.open.isEmpty else { return }
    thread.end()
    let completions = onEnd
    onEnd = []
    for completion in completions { completion() }
  }
}
