/// Clients come and go.
extension EventLoop {
  /// Descriptors whose closing is under way before nobody is accepted any more.
  private static let pendingCloses = 8

  func acceptWaiting() {
    guard let listener else { return }
    room.look(at: .now)
    // Bounded, so that a flood of new clients leaves time to those who are there.
    for _ in 0..<64 {
      // A descriptor is closed some time after its client: a flood must not be ahead of that.
      guard openDescriptors - clients.count < Self.pendingCloses else { return listener.pause() }
      switch listener.socket.accept() {
      case .connection(let descriptor):
        let client = add(descriptor)
        room.accepted(descriptor, clients: clients.count)
        if clients.count > room.capacity, !evict(keeping: client) { close(client, reset: true) }
      case .none: return
      case .exhausted:
        room.exhausted(clients: clients.count)
        listener.pause()
        // Perhaps not the clients have taken them all, but the app: it may give some back before the next look.
        if !evict(keeping: nil) { deadlines?.schedule(.now + .milliseconds(100)) }
        return
      }
    }
  }

  private func add(_ descriptor: Int32) -> Client {
    let connection = Connection(limits: connectionLimits, at: clock.now())
    let client = clients.add { key in
      Client(
        key: key, descriptor: descriptor, connection: connection, queue: executor.queue,
        onReadable: { [weak self] in self?.assumeIsolated { $0.readable(key) } })
    }
    openDescriptors += 1
    deadlines?.schedule(client.connection.deadline)
    return client
  }

  private func evict(keeping kept: Client?) -> Bool {
    guard let client = clients.first(keeping: kept) else { return false }
    close(client, reset: !client.connection.output.isEmpty)
    return true
  }

  func close(_ client: Client, reset: Bool) {
    guard !client.isClosed else { return }
    busy.remove(client)
    clients.remove(client)
    client.close(reset: reset) { [weak self] in self?.assumeIsolated { $0.descriptorClosed() } }
    freePlace(of: client)
  }

  private func descriptorClosed() {
    openDescriptors -= 1
    listener?.resume()
    if isDraining, openDescriptors == 0 {
      for continuation in drained { continuation.resume() }
      drained = []
    }
  }

  /// The client that an answer is for, if it is still there and waits for it.
  func client(_ recipient: Recipient) -> Client? {
    guard let client = clients[recipient.client], client.connection.isCurrent(recipient.request) else {
      return nil
    }
    return client
  }
}
