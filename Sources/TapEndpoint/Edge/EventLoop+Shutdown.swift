extension EventLoop {
  /// Stops accepting, and lets the connections end in order.
  func drain() async {
    isDraining = true
    // Before anything is waited for: an answer that goes out meanwhile is to say that it is the last.
    drainClients()
    await withCheckedContinuation { continuation in
      guard let listener else { return continuation.resume() }
      self.listener = nil
      listener.close { continuation.resume() }
    }
    // Those that were let in meanwhile.
    drainClients()
    guard openDescriptors > 0 else { return }
    await withCheckedContinuation { drained.append($0) }
  }

  private func drainClients() {
    for client in clients.all {
      client.connection.drain()
      advance(client)
    }
  }

  /// Ends what is left.
  func abort() {
    for client in clients.all { close(client, reset: true) }
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
