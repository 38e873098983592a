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
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private nonisolated let executor = QueueExecutor(label: "session-tap.endpoint")
  private let router: Router
  private let limits: Endpoint.Configuration.Limits
  private var listener: Listener?
  private var clients: [UInt64: Client] = [:]
  private var openDescriptors = 0
  private var nextClientID: UInt64 = 0
  private var requestsInFlight = 0
  private var isDraining = false
  private var drained: [CheckedContinuation<Void, Never>] = []
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var clock = EventClock()
  private var deadlines: DeadlineTimer?

  init(router: Router, limits: Endpoint.Configuration.Limits) {
    self.router = router
    self.limits = limits
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
    // Bounded, so that a flood of new clients leaves time to those who are there.
    for _ in 0..<64 {
      switch listener.socket.accept() {
      case .connection(let descriptor): add(descriptor)
      case .none: return
      case .exhausted:
        if !evict(keeping: nil) { listener.pause() }
        return
      }
    }
  }

  private func add(_ descriptor: Int32) {
    let id = nextClientID
    nextClientID += 1
    let moment = clock.now()
    let client = Client(
      id: id, descriptor: descriptor, connection: Connection(limits: limits.connection, at: moment),
      queue: executor.queue,
      onReadable: { [weak self] in self?.assumeIsolated { $0.readable(id) } },
      onWritable: { [weak self] in self?.assumeIsolated { $0.writable(id) } })
    clients[id] = client
    openDescriptors += 1
    deadlines?.schedule(client.connection.deadline)
    if clients.count > limits.connections, !evict(keeping: id) { close(client, reset: true) }
  }

  /// Closes the oldest idle connection; without one, the oldest that has not sent its request; then the
  /// oldest that does not read. One whose handler works is kept.
  private func evict(keeping kept: UInt64?) -> Bool {
    let candidates = clients.values.filter { $0.id != kept && $0.connection.activity != .answering }
    guard
      let oldest = candidates.min(by: {
        ($0.connection.activity.rawValue, $0.connection.deadline)
          < ($1.connection.activity.rawValue, $1.connection.deadline)
      })
    else { return false }
    close(oldest, reset: oldest.connection.activity == .writing)
    return true
  }

  private func close(_ client: Client, reset: Bool) {
    guard clients.removeValue(forKey: client.id) != nil else { return }
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

  // MARK: Events

  private func readable(_ id: UInt64) {
    guard let client = clients[id], client.connection.wantsInput else { return }
    switch Socket.receive(client.descriptor, into: &buffer) {
    case .done(0): client.connection.inputEnded()
    case .done(let count): client.connection.received(buffer[..<count])
    case .wouldBlock: return
    case .failed: client.connection.failed()
    }
    advance(client)
  }

  private func writable(_ id: UInt64) {
    guard let client = clients[id] else { return }
    client.connection.writable()
    advance(client)
  }

  private func checkDeadlines() {
    let moment = clock.now()
    listener?.resume()
    for client in clients.values where client.connection.deadline <= moment.instant {
      client.connection.deadlinePassed(at: moment)
      advance(client)
    }
    if let next = clients.values.lazy.map(\.connection.deadline).min() { deadlines?.schedule(next) }
  }

  /// Does what the connection asks for, until it waits.
  private func advance(_ client: Client) {
    let moment = clock.now()
    while true {
      switch client.connection.nextAction(at: moment) {
      case .handle(let request, let id):
        handle(request, id, of: client, at: moment)
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
        close(client, reset: reset)
        return
      case .wait:
        if client.connection.hasRoom, let producer = client.producer {
          client.producer = nil
          producer.resume(returning: true)
        }
        client.updateInterest()
        deadlines?.schedule(client.connection.deadline)
        return
      }
    }
  }

  // MARK: Handlers

  private func handle(_ request: HTTPRequest, _ id: UInt64, of client: Client, at moment: Moment) {
    switch router.match(request) {
    case .refused(let response):
      client.connection.answer(response, to: id, at: moment)
    case .handler(.immediate(let handler)):
      client.connection.answer(handler(request), to: id, at: moment)
    case .handler(.asynchronous(let handler)):
      guard requestsInFlight < limits.requestsInFlight else {
        let response = HTTPResponse.refusal(.serviceUnavailable, "too many requests are being answered")
        client.connection.answer(response, to: id, at: moment)
        return
      }
      requestsInFlight += 1
      let clientID = client.id
      client.task = Task { await self.run(handler, request, id, of: clientID) }
    }
  }

  /// Runs a handler outside of the loop, and brings its answer in.
  private nonisolated func run(
    _ handler: @Sendable (HTTPRequest) async throws -> HTTPResponse, _ request: HTTPRequest, _ id: UInt64,
    of client: UInt64
  ) async {
    var response: HTTPResponse
    do {
      response = try await handler(request)
    } catch {
      response = .refusal(.internalServerError, "the handler failed")
    }
    if await answer(response, to: id, of: client), case .stream(_, let produce) = response.body {
      let writer = HTTPBodyWriter { bytes in
        guard await self.write(bytes, to: id, of: client) else { throw CancellationError() }
      }
      do {
        try await produce(writer)
        await bodyEnded(of: id, of: client, complete: true)
      } catch {
        await bodyEnded(of: id, of: client, complete: false)
      }
    }
    await handlerEnded()
  }

  private func handlerEnded() {
    requestsInFlight -= 1
  }

  /// - Returns: whether the answer's streamed body is wanted.
  private func answer(_ response: HTTPResponse, to id: UInt64, of clientID: UInt64) -> Bool {
    guard let client = clients[clientID] else { return false }
    client.connection.answer(response, to: id, at: clock.now())
    let isStreaming = client.connection.isCurrent(id)
    advance(client)
    return isStreaming && clients[clientID] != nil
  }

  /// - Returns: whether there is still somebody to write to. Waits until there is room for more.
  private func write(_ bytes: [UInt8], to id: UInt64, of clientID: UInt64) async -> Bool {
    guard let client = clients[clientID], client.connection.isCurrent(id) else { return false }
    client.connection.bodyPart(bytes, of: id, at: clock.now())
    advance(client)
    guard clients[clientID] != nil, !client.connection.hasRoom, client.producer == nil else {
      return clients[clientID] != nil
    }
    return await withCheckedContinuation { client.producer = $0 }
  }

  private func bodyEnded(of id: UInt64, of clientID: UInt64, complete: Bool) {
    guard let client = clients[clientID] else { return }
    client.connection.bodyEnded(of: id, complete: complete, at: clock.now())
    advance(client)
  }

  // MARK: Shutdown

  /// Stops accepting, and lets the connections end in order.
  func drain() async {
    isDraining = true
    await withCheckedContinuation { continuation in
      guard let listener else { return continuation.resume() }
      self.listener = nil
      listener.close { continuation.resume() }
    }
    for client in clients.values {
      client.connection.drain()
      advance(client)
    }
    guard openDescriptors > 0 else { return }
    await withCheckedContinuation { drained.append($0) }
  }

  /// Ends what is left.
  func abort() {
    for client in clients.values { close(client, reset: true) }
    deadlines = nil
  }

  /// Ends everything without waiting for it: nobody holds the endpoint any more.
  nonisolated func abandon() {
    Task {
      let draining = Task { await self.drain() }
      await self.abort()
      await draining.value
    }
  }
}
