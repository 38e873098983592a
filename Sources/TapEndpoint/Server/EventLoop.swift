import Dispatch
import TapCore

/// Serves all connections on one serial queue. It moves bytes and events between sockets, clocks and
/// handlers; the state machines of the connections decide.
actor EventLoop {
  private static let listenerID: Poller.ID = 0
  /// A deadline is noticed at most this much late. It bounds how often all connections are visited.
  private static let checkInterval = Duration.milliseconds(20)

  nonisolated let executor = QueueExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let router: Router
  /// `nil` where no request needs credentials.
  var authenticator: Authenticator?
  var isReadingCredentials = false
  /// `nil` where a request may name any host.
  let hosts: AllowedHosts?
  let limits: Endpoint.Configuration.Limits
  let logRefusal: (@Sendable (String) -> Void)?
  let overdue: OverdueHandlers
  var connections: ConnectionTable
  /// `true` is the load of scrapes, `false` that of all other requests.
  var loads: [Bool: Load] = [:]
  /// The running handlers by the path of their route, including those of ended requests.
  var runningHandlers: [String: Int] = [:]
  /// The lines about refused requests.
  var refusals = MinuteLimit(10)
  var clock = EventTime.Clock()

  private let poller: Poller
  private var listener: ListeningSocket?
  private var isAccepting = true
  private var nextID = listenerID + 1
  private var shutdownDeadline: ContinuousClock.Instant?
  private var onEnd: [@Sendable () -> Void] = []
  private var nextCheck: ContinuousClock.Instant?
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  /// Takes ownership of the socket once it ``begin()``s.
  init(
    _ socket: ListeningSocket, _ router: Router, _ authenticator: Authenticator?,
    _ configuration: Endpoint.Configuration, _ overdue: OverdueHandlers
  ) throws(EndpointError) {
    do {
      poller = try Poller()
      try poller.add(socket.descriptor, Self.listenerID, .input)
    } catch {
      throw EndpointError(error.code, listeningAt: configuration.address)
    }
    listener = socket
    (self.router, self.authenticator, self.overdue) = (router, authenticator, overdue)
    hosts = socket.address.isReachableFromNetwork ? nil : AllowedHosts(configuration.access.allowedHosts)
    (limits, logRefusal) = (configuration.limits, configuration.logRefusal)
    connections = ConnectionTable(limit: limits.connections)
  }

  nonisolated func perform(_ body: @escaping @Sendable (isolated EventLoop) -> Void) {
    executor.queue.async { self.assumeIsolated(body) }
  }

  func begin() { poller.begin(on: executor.queue) { [weak self] in self?.assumeIsolated { $0.turn() } } }

  /// Polls again at the end of the queue; lets Dispatch watch only when nothing is ready: its watch costs
  /// more than a small request.
  private func turn() {
    let ready = poller.ready()
    guard !ready.isEmpty else { return poller.watch(true) }
    for (id, events) in ready {
      if id == Self.listenerID { acceptConnections() } else { handle(events, on: id) }
    }
    perform { $0.turn() }
  }

  // MARK: New connections

  private func acceptConnections() {
    guard let listener else { return }
    connections.updateCapacity(at: .now)
    do throws(System.Failure) {
      // Bounded, so that a flood of new connections leaves time to the open ones.
      for _ in 0..<64 {
        guard let descriptor = try listener.accept() else { return }
        let connection = try open(descriptor)
        connections.noteAccepted(descriptor, at: .now)
        if connections.open.count > connections.capacity, !makeRoom(except: connection) {
          close(connection, reset: true)
        }
      }
    } catch {
      connections.noteShortage(at: .now)
      // New connections stay in the system's queue.
      accept(false)
      // The app may have taken all descriptors, and free some before the next attempt.
      if !makeRoom(except: nil) { checkDeadlines(at: .now + .milliseconds(100)) }
    }
  }

  private func accept(_ isWanted: Bool) {
    guard let listener, isWanted != isAccepting else { return }
    isAccepting = isWanted
    poller.change(listener.descriptor, Self.listenerID, to: isWanted ? .input : [])
  }

  private func open(_ descriptor: Int32) throws(System.Failure) -> Connection {
    let state = ConnectionState(limits: limits, at: clock.now())
    let connection = Connection(id: nextID, descriptor: descriptor, state: state)
    do {
      try poller.add(descriptor, connection.id, connection.events)
    } catch {
      connection.close(reset: true)
      throw error
    }
    nextID += 1
    connections.open[connection.id] = connection
    checkDeadlines(at: state.deadline)
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

  /// Checks all deadlines at that instant or shortly after, unless they are checked earlier anyway. Most are
  /// moved before they pass, so that a check finds the next one.
  private func checkDeadlines(at instant: ContinuousClock.Instant) {
    if let nextCheck, nextCheck <= instant { return }
    nextCheck = instant
    let delay = max(ContinuousClock.now.duration(to: instant), .zero) + Self.checkInterval
    let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: delay.nanoseconds))
    executor.queue.asyncAfter(deadline: deadline) { [weak self] in
      // Otherwise an earlier check has replaced this one.
      self?.assumeIsolated { if $0.nextCheck == instant { $0.checkDeadlines() } }
    }
  }

  private func checkDeadlines() {
    nextCheck = nil
    let time = clock.now()
    if let shutdownDeadline, shutdownDeadline <= time.instant { return abort() }
    accept(true)
    var next = shutdownDeadline
    for connection in connections.open.values {
      if connection.state.deadline <= time.instant {
        connection.state.deadlinePassed(at: time)
        advance(connection)
      }
      if !connection.isClosed { next = min(next ?? connection.state.deadline, connection.state.deadline) }
    }
    if let next { checkDeadlines(at: next) }
  }

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
        let events: Poller.Events = input ? (output ? [.input, .output] : .input) : output ? .output : []
        if exchange(&connection.events, with: events) != events {
          poller.change(connection.descriptor, connection.id, to: events)
        }
        checkDeadlines(at: deadline)
        return release(connection, at: time)
      }
    }
  }

  private func close(_ connection: Connection, reset: Bool) {
    guard !connection.isClosed else { return }
    connections.open[connection.id] = nil
    poller.remove(connection.descriptor)
    connection.close(reset: reset)
    release(connection, at: clock.now())
    accept(true)
    endIfDone()
  }

  // MARK: Shutdown

  /// Stops accepting, ends the connections in order, and closes the remaining ones at the deadline.
  func shutdown(by deadline: ContinuousClock.Instant, then completion: @escaping @Sendable () -> Void) {
    onEnd.append(completion)
    shutdownDeadline = min(shutdownDeadline ?? deadline, deadline)
    checkDeadlines(at: deadline)
    for connection in connections.open.values {
      connection.state.drain()
      advance(connection)
    }
    if deadline <= .now { abort() }
    if let listener = exchange(&listener, with: nil) {
      poller.remove(listener.descriptor)
      listener.close()
    }
    endIfDone()
  }

  private func abort() {
    for connection in connections.open.values { close(connection, reset: true) }
  }

  private func endIfDone() {
    guard listener == nil, connections.open.isEmpty else { return }
    // Retains the event loop until then.
    poller.close { self.assumeIsolated { for completion in exchange(&$0.onEnd, with: []) { completion() } } }
  }
}

/// Runs an actor on a serial dispatch queue, so that the handlers of dispatch sources, which run on the same
/// queue, are isolated to the actor. (`DispatchSerialQueue`, which is such an executor, is not on Linux.)
final class QueueExecutor: SerialExecutor {
  /// Of a class that shares its threads with no other class, so that blocked queues of the app in another
  /// class take none of them. On Linux `.userInteractive` and `.userInitiated` share theirs, and
  /// `.background` has a nice value of 10: its endpoint would hardly answer while processors are short.
  /// `.utility` has 2.
  #if canImport(Darwin)
    private static let qos = DispatchQoS.userInteractive
  #else
    private static let qos = DispatchQoS.utility
  #endif
  let queue = DispatchQueue(label: "session-tap.endpoint", qos: qos)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
