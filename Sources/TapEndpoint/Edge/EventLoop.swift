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

  /// Descriptors whose closing is under way before nobody is accepted any more.
  private static let pendingCloses = 8

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  nonisolated let executor = QueueExecutor(label: "session-tap.endpoint")
  let router: Router
  let gatekeeper: Gatekeeper
  let limits: Endpoint.Configuration.Limits
  private let connectionLimits: ConnectionLimits
  var listener: Listener?
  var clients: [Client?] = []
  private var order = EvictionOrder()
  private var busy = BusyClients()
  private var isLookScheduled = false
  private var clientCount = 0
  private var room: ClientRoom
  private var nextSerial: UInt64 = 0
  var openDescriptors = 0
  var requestsInFlight = 0
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

  // MARK: Clients

  private func acceptWaiting() {
    guard let listener else { return }
    room.look(at: .now)
    // Bounded, so that a flood of new clients leaves time to those who are there.
    for _ in 0..<64 {
      // A descriptor is closed some time after its client: a flood must not be ahead of that.
      guard openDescriptors - clientCount < Self.pendingCloses else { return listener.pause() }
      switch listener.socket.accept() {
      case .connection(let descriptor):
        let client = add(descriptor)
        room.accepted(descriptor, clients: clientCount)
        if clientCount > room.capacity, !evict(keeping: client.key.slot) { close(client, reset: true) }
      case .none: return
      case .exhausted:
        room.exhausted(clients: clientCount)
        listener.pause()
        // Perhaps not the clients have taken them all, but the app: it may give some back before the next look.
        if !evict(keeping: nil) { deadlines?.schedule(.now + .milliseconds(100)) }
        return
      }
    }
  }

  private func add(_ descriptor: Int32) -> Client {
    let moment = clock.now()
    let slot = order.insert(.waiting)
    let key = Client.Key(slot: slot, serial: nextSerial)
    nextSerial += 1
    let client = Client(
      key: key, descriptor: descriptor, connection: Connection(limits: connectionLimits, at: moment),
      queue: executor.queue,
      onReadable: { [weak self] in self?.assumeIsolated { $0.readable(key) } })
    if slot < clients.count { clients[slot] = client } else { clients.append(client) }
    clientCount += 1
    openDescriptors += 1
    deadlines?.schedule(client.connection.deadline)
    return client
  }

  private func evict(keeping kept: Int?) -> Bool {
    guard let slot = order.first(keeping: kept), let client = clients[slot] else { return false }
    close(client, reset: !client.connection.output.isEmpty)
    return true
  }

  func close(_ client: Client, reset: Bool) {
    guard !client.isClosed else { return }
    busy.remove(client)
    order.remove(client.key.slot)
    clients[client.key.slot] = nil
    clientCount -= 1
    client.close(reset: reset) { [weak self] in self?.assumeIsolated { $0.descriptorClosed() } }
  }

  private func descriptorClosed() {
    openDescriptors -= 1
    listener?.resume()
    if isDraining, openDescriptors == 0 {
      for continuation in drained { continuation.resume() }
      drained = []
    }
  }

  private func client(_ key: Client.Key) -> Client? {
    guard let client = clients[key.slot], client.key == key else { return nil }
    return client
  }

  /// The client that an answer is for, if it is still there and waits for it.
  func client(_ recipient: Recipient) -> Client? {
    guard let client = client(recipient.client), client.connection.isCurrent(recipient.request) else {
      return nil
    }
    return client
  }

  // MARK: Events

  private func readable(_ key: Client.Key) {
    guard let client = client(key) else { return }
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
    guard let client = client(key) else { return }
    client.connection.writable()
    advance(client)
  }

  private func checkDeadlines() {
    let moment = clock.now()
    listener?.resume()
    var next: ContinuousClock.Instant?
    for case let client? in clients {
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
  func log(_ status: HTTPStatus, _ reason: String, of client: Client, at moment: Moment) {
    guard let logRefusal, let suppressed = refusals.admit(at: moment.instant) else { return }
    let peer = SocketAddress.peer(client.descriptor)?.description ?? "a client that is gone"
    logRefusal(
      "refused \(peer.isEmpty ? "a local client" : peer): \(status.rawValue) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }

  private func wait(_ client: Client) {
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
    if client.takesUpActivity() { order.move(client.key.slot, to: client.connection.activity) }
    deadlines?.schedule(client.connection.deadline)
  }
}
