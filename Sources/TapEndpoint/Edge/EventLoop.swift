import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The edge: sockets, clocks and handlers, on one serial queue. It moves bytes and events between them and
/// the connections, which decide.
actor EventLoop {
  /// Where an answer goes.
  struct Recipient: Sendable {
    let client: Client.Key
    let request: UInt64
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  nonisolated let executor = QueueExecutor(label: "session-tap.endpoint")
  let router: Router
  let gatekeeper: Gatekeeper
  let limits: Endpoint.Configuration.Limits
  let connectionLimits: ConnectionLimits
  var listener: Listener?
  var clients = ClientTable()
  var busy = BusyClients()
  private var isLookScheduled = false
  var room: ClientRoom
  var openDescriptors = 0
  /// The requests that wait for a handler of the app's.
  var requestsInFlight = 0
  /// The scrapes whose gathering has not ended.
  var scrapesInFlight = 0
  var isDraining = false
  var drained: [CheckedContinuation<Void, Never>] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  var clock = EventClock()
  private let logRefusal: (@Sendable (String) -> Void)?
  private var refusals = RefusalLog()
  var deadlines: DeadlineTimer?

  init(
    router: Router, gatekeeper: Gatekeeper, limits: Endpoint.Configuration.Limits,
    logRefusal: (@Sendable (String) -> Void)?
  ) {
    self.router = router
    self.gatekeeper = gatekeeper
    self.limits = limits
    self.logRefusal = logRefusal
    connectionLimits = limits.connection
    room = ClientRoom(limit: limits.connections)
  }

  /// Begins to accept from the socket, which it takes over.
  nonisolated func start(_ socket: ListeningSocket) {
    executor.queue.async { self.assumeIsolated { $0.listen(socket) } }
  }

  private func listen(_ socket: ListeningSocket) {
    deadlines = DeadlineTimer(queue: executor.queue) { [weak self] in
      self?.assumeIsolated { $0.checkDeadlines() }
    }
    listener = Listener(socket, queue: executor.queue) { [weak self] in
      self?.assumeIsolated { $0.acceptWaiting() }
    }
  }

  // MARK: Events

  func readable(_ key: Client.Key) {
    guard let client = clients[key] else { return }
    receive(from: client)
  }

  private func receive(from client: Client) {
    guard !client.isClosed, client.connection.wantsInput else { return }
    switch Socket.receive(client.descriptor, into: &buffer) {
    case .done(0): client.connection.inputEnded()
    case .done(let count): client.connection.received(buffer[..<count])
    case .wouldBlock: return
    case .failed: client.connection.failed()
    }
    advance(client)
    if client.busyIndex == nil, !client.isClosed, client.connection.wantsInput, busy.insert(client) {
      client.read(by: .busyClients)
      scheduleLook()
    }
  }

  private func scheduleLook() {
    guard !isLookScheduled, !busy.isEmpty else { return }
    isLookScheduled = true
    executor.queue.async { [weak self] in self?.assumeIsolated { $0.lookAtBusyClients() } }
  }

  private func lookAtBusyClients() {
    isLookScheduled = false
    // Some looks in a row; then the queue's other work has its turn.
    for _ in 0..<8 {
      let ready = busy.ready()
      for client in ready { receive(from: client) }
      if ready.isEmpty { break }
    }
    for client in busy.cooled() { client.read(by: client.connection.wantsInput ? .source : .nobody) }
    scheduleLook()
  }

  private func writable(_ key: Client.Key) {
    guard let client = clients[key] else { return }
    client.connection.writable()
    advance(client)
  }

  private func checkDeadlines() {
    let moment = clock.now()
    listener?.resume()
    var next: ContinuousClock.Instant?
    for client in clients.all {
      if client.connection.deadline <= moment.instant {
        client.connection.deadlinePassed(at: moment)
        advance(client)
      }
      if !client.isClosed { next = min(next ?? client.connection.deadline, client.connection.deadline) }
    }
    if let next { deadlines?.schedule(next) }
  }

  /// Does what the connection asks for, until it waits.
  func advance(_ client: Client) {
    let moment = clock.now()
    while true {
      switch client.connection.nextAction(at: moment) {
      case .handle(let request, let id):
        handle(request, id, of: client, at: moment)
      case .refused(let failure):
        log(failure.status, failure.reason, of: client, at: moment)
      case .cancel:
        client.task?.cancel()
      case .write:
        switch Socket.send(client.descriptor, from: client.connection.output) {
        case .done(let count): client.connection.wrote(count, at: moment)
        case .wouldBlock: client.connection.writeBlocked()
        case .failed: client.connection.failed()
        }
      case .shutdownOutput:
        shutdown(client.descriptor, Int32(SHUT_WR))
      case .close(let reset):
        return close(client, reset: reset)
      case .wait:
        return wait(client)
      }
    }
  }

  /// Tells of a refused request, but not of each one of a flood.
  func log(_ status: EndpointStatus, _ reason: String, of client: Client, at moment: Moment) {
    guard let logRefusal, let suppressed = refusals.admit(at: moment.instant) else { return }
    let peer = SocketAddress.peer(client.descriptor)?.description ?? "a client that is gone"
    logRefusal(
      "refused \(peer.isEmpty ? "a local client" : peer): \(status.rawValue) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }

  private func wait(_ client: Client) {
    freePlace(of: client)
    if client.connection.hasRoom, let producer = client.producer {
      client.producer = nil
      producer.resume(returning: true)
    }
    if !client.connection.wantsInput {
      busy.remove(client)
      client.read(by: .nobody)
    } else if client.busyIndex == nil {
      client.read(by: .source)
    }
    client.watchWriting(client.connection.wantsOutput, queue: executor.queue) {
      [weak self, key = client.key] in
      self?.assumeIsolated { $0.writable(key) }
    }
    if client.takesUpActivity() { clients.moveToEnd(client) }
    deadlines?.schedule(client.connection.deadline)
  }
}
