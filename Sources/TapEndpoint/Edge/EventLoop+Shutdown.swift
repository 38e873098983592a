extension EventLoop {
  /// Stops accepting, and lets the connections end in order.
  func drain() async {
    isDraining = true
    await withCheckedContinuation { continuation in
      guard let listener else { return continuation.resume() }
      self.listener = nil
      listener.close { continuation.resume() }
    }
    for client in clients.all {
      client.connection.drain()
      advance(client)
    }
    guard openDescriptors > 0 else { return }
    await withCheckedContinuation { drained.append($0) }
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
