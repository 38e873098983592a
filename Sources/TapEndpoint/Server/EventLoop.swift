import Dispatch
import TapCore

/// Serves all connections on one serial queue: it moves bytes and events between sockets, clocks and handlers, and
/// the state machines of the connections decide.
actor EventLoop {
  /// Descriptors that may wait to be closed before no further connection is accepted.
  private static let pendingCloses = 8
  /// A deadline is noticed at most this much late. It bounds how often all connections are visited.
  private static let checkInterval = Duration.milliseconds(20)

  nonisolated let executor = QueueExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let router: Router
  /// `nil` where no request needs credentials.
  let authenticator: Authenticator?
  /// `nil` where a request may name any host.
  let hosts: AllowedHosts?
  let limits: Endpoint.Configuration.Limits
  let logRefusal: (@Sendable (String) -> Void)?
  let overdue: OverdueHandlers
  var connections: ConnectionTable
  /// That of scrapes, and that of all other requests.
  var loads: [Bool: Load] = [:]
  /// The handlers that run, by the path of their route, those whose requests are over among them.
  var runningHandlers: [String: Int] = [:]
  var refusals = RefusalLog()
  var clock = EventClock()

  private var listener: (socket: ListeningSocket, source: DescriptorSource)?
  /// Those of the connections, and those that are being closed.
  private var openDescriptors = 0
  private var nextID: Connection.ID = 0
  private var shutdownDeadline: ContinuousClock.Instant?
  private var onEnd: [@Sendable () -> Void] = []
  /// When the deadlines are checked next.
  private var nextCheck: ContinuousClock.Instant?
  private var buffer = [UInt8](repeating: 0, count: 65_536)

  init(
    _ router: Router, _ authenticator: Authenticator?, _ hosts: AllowedHosts?,
    _ configuration: Endpoint.Configuration, _ overdue: OverdueHandlers
  ) {
    (self.router, self.authenticator, self.hosts, self.overdue) = (router, authenticator, hosts, overdue)
    (limits, logRefusal) = (configuration.limits, configuration.logRefusal)
    connections = ConnectionTable(limit: limits.connections)
  }

  nonisolated func perform(_ body: @escaping @Sendable (isolated EventLoop) -> Void) {
    executor.queue.async { self.assumeIsolated(body) }
  }

  /// What a dispatch source calls, as long as there is the event loop.
  private nonisolated func event(_ body: @escaping (isolated EventLoop) -> Void) -> () -> Void {
    { [weak self] in self?.assumeIsolated(body) }
  }

  /// Begins to accept from the socket, whose ownership it takes.
  func listen(_ socket: ListeningSocket) {
    let source = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: executor.queue)
    listener = (socket, DescriptorSource(source, onEvent: event { $0.acceptConnections() }))
  }

  // MARK: New connections

  private func acceptConnections() {
    guard let (socket, source) = listener else { return }
    connections.updateCapacity(at: .now)
    do throws(System.Failure) {
      // Bounded, so that a flood of new connections leaves time to the open ones.
      for _ in 0..<64 {
        // A descriptor is closed some time after its connection: a flood must not overtake that.
        guard openDescriptors - connections.open.count < Self.pendingCloses else {
          return source.watch(false)
        }
        guard let descriptor = try socket.accept() else { return }
        let connection = open(descriptor)
        connections.noteAccepted(descriptor, at: .now)
        if connections.open.count > connections.capacity, !makeRoom(except: connection) {
          close(connection, reset: true)
        }
      }
    } catch {
      connections.noteShortage(at: .now)
      // New connections stay in the system's queue.
      source.watch(false)
      // If it is the app that has taken all descriptors, it may give some back until the next attempt.
      if !makeRoom(except: nil) { checkDeadlines(at: .now + .milliseconds(100)) }
    }
  }

  private func open(_ descriptor: Int32) -> Connection {
    let id = nextID
    nextID += 1
    let state = ConnectionState(limits: limits, at: clock.now())
    let connection = Connection(
      id: id, descriptor: descriptor, state: state, queue: executor.queue,
      onReadable: event { $0.receive(on: id) })
    connections.open[id] = connection
    openDescriptors += 1
    checkDeadlines(at: state.deadline)
    return connection
  }

  private func makeRoom(except kept: Connection?) -> Bool {
    guard let connection = connections.firstToClose(except: kept) else { return false }
    close(connection, reset: !connection.state.output.isEmpty)
    return true
  }

  // MARK: Events

  private func receive(on id: Connection.ID) {
    guard let connection = connections.open[id] else { return }
    connection.isReadQueued = false
    guard connection.state.wantsInput else { return }
    connection.mayHaveInput = connection.receive(into: &buffer)
    if connection.mayHaveInput { advance(connection) } else { connection.reading.watch(true) }
  }

  /// Reads again at the end of the queue, until a read would block; only then the dispatch source takes over. Two
  /// reasons, and no busy loop, because each further read is paid for by bytes that have arrived:
  /// - A client that resets the connection behind some bytes causes one event for both. On Linux the source is silent
  ///   after such a hangup, so the reset shows in a read alone.
  /// - A source is armed again after each event by a thread of its own, which costs more than a small request. Behind an
  ///   answer, the client's next request often arrives while the queue serves the others.
  private func queueRead(_ connection: Connection) {
    connection.isReadQueued = true
    connection.reading.watch(false)
    perform { [id = connection.id] in $0.receive(on: id) }
  }

  private func writable(_ id: Connection.ID) {
    guard let connection = connections.open[id] else { return }
    connection.state.isWriteBlocked = false
    advance(connection)
  }

  /// Checks all deadlines then, or somewhat later, unless they are checked earlier anyway. Most deadlines are moved before they
  /// pass, so that a check finds the next one.
  private func checkDeadlines(at instant: ContinuousClock.Instant) {
    if let nextCheck, nextCheck <= instant { return }
    nextCheck = instant
    let delay = max(ContinuousClock.now.duration(to: instant), .zero) + Self.checkInterval
    let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: delay.nanoseconds))
    executor.queue.asyncAfter(deadline: deadline) { [weak self] in
      // Otherwise there was an earlier one since.
      self?.assumeIsolated { if $0.nextCheck == instant { $0.checkDeadlines() } }
    }
  }

  private func checkDeadlines() {
    nextCheck = nil
    let time = clock.now()
    if let shutdownDeadline, shutdownDeadline <= time.instant { return abort() }
    listener?.source.watch(true)
    var next = shutdownDeadline
    for connection in connections.open.values {
      if connection.state.deadline <= time.instant {
        connection.state.deadlinePassed(at: time)
        advance(connection)
      }
      if !connection.isClosed {
        next = min(next ?? connection.state.deadline, connection.state.deadline)
      }
    }
    if let next { checkDeadlines(at: next) }
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
        watch(connection, input: input, output: output)
        checkDeadlines(at: deadline)
        return release(connection, at: time)
      }
    }
  }

  private func watch(_ connection: Connection, input: Bool, output: Bool) {
    if !input {
      connection.reading.watch(false)
    } else if !connection.mayHaveInput {
      connection.reading.watch(true)
    } else if !connection.isReadQueued {
      queueRead(connection)
    }
    let id = connection.id
    connection.watchWriting(output, onWritable: event { $0.writable(id) })
  }

  private func close(_ connection: Connection, reset: Bool) {
    guard !connection.isClosed else { return }
    connections.open[connection.id] = nil
    connection.close(reset: reset, then: event { $0.descriptorClosed() })
    release(connection, at: clock.now())
  }

  private func descriptorClosed() {
    openDescriptors -= 1
    listener?.source.watch(true)
    endIfDone()
  }

  // MARK: Shutdown

  /// Stops accepting, lets the connections end in order, and closes at the deadline what is left of them.
  func shutdown(by deadline: ContinuousClock.Instant, then completion: @escaping @Sendable () -> Void) {
    onEnd.append(completion)
    shutdownDeadline = min(shutdownDeadline ?? deadline, deadline)
    checkDeadlines(at: deadline)
    for connection in connections.open.values {
      connection.state.drain()
      advance(connection)
    }
    if deadline <= .now { abort() }
    guard let (socket, source) = listener else { return endIfDone() }
    listener = nil
    openDescriptors += 1
    // Keeps the event loop until the socket is closed.
    let closing: @Sendable () -> Void = {
      self.assumeIsolated { loop in
        socket.close()
        loop.descriptorClosed()
      }
    }
    source.cancel(then: closing)
  }

  private func abort() {
    for connection in connections.open.values { close(connection, reset: true) }
  }

  private func endIfDone() {
    guard listener == nil, openDescriptors == 0 else { return }
    for completion in exchange(&onEnd, with: []) { completion() }
  }
}

/// Runs an actor on a serial dispatch queue, so that the handlers of dispatch sources, which run on the same
/// queue, are isolated to the actor. (`DispatchSerialQueue`, which is such an executor, is not on Linux.)
final class QueueExecutor: SerialExecutor {
  /// Of the class that apps fill least: each class has threads of its own, so that those that block in another one take none of
  /// these. On Linux this one shares its threads with `.userInitiated`.
  let queue = DispatchQueue(label: "session-tap.endpoint", qos: .userInteractive)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
