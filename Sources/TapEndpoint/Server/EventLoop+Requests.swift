import TapCore

/// Passes requests to handlers, and their answers back.
extension EventLoop {
  /// The load of scrapes, or of all other requests, counted apart so that neither takes the other's share.
  struct Load {
    /// The requests that wait for a handler.
    var requests = 0
    var unsent = UnsentBodies()
  }

  func handle(_ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime) {
    let route = router.route(for: request)
    guard let authenticator, authenticator.isOutdated(for: request, at: time.instant) else {
      return answer(request, id, by: route, on: connection, at: time)
    }
    guard !isRefused(id, by: route, on: connection, at: time) else { return }
    connection.unauthenticated = (request, id, route)
    readCredentials(of: authenticator.files)
  }

  private func answer(
    _ request: EndpointRequest, _ id: UInt64, by route: EndpointRoute, on connection: Connection,
    at time: EventTime
  ) {
    if let refusal = authenticator?.refusal(request) ?? (route.isPublic ? nil : hosts?.refusal(request)) {
      let reason = refusal.status == 421 ? "a host that is not allowed" : "credentials"
      log(refusal.status, reason, on: connection, at: time)
      return connection.state.answer(refusal, to: id, at: time)
    }
    switch route.handler {
    case .immediate(let handler):
      _ = send(handler(request), to: id, on: connection, isScrape: false, at: time)
    case .deferred(let start):
      // The request before may have come in the same bytes, and be over.
      release(connection, at: time)
      guard !isRefused(id, by: route, on: connection, at: time) else { return }
      loads[route.isScrape, default: Load()].requests += 1
      runningHandlers[route.path, default: 0] += 1
      route.scrapes?.started()
      connection.deferred = Connection.DeferredRequest(id: id, route: route, start: time.instant)
      start(request) { [number = connection.id] response in
        self.perform { $0.handlerReturned(response, to: id, on: number, at: route.path) }
      }
    }
  }

  /// Reads the files on another thread, then continues the requests that wait for it.
  private func readCredentials(of files: [Authenticator.File]) {
    guard !exchange(&isReadingCredentials, with: true) else { return }
    do {
      try BackgroundThread.start { [self] in
        let start = ContinuousClock.now
        let credentials = files.map(\.current)
        perform { $0.continueRequests(with: credentials, readAt: start) }
      }
    } catch {
      // The next request tries again.
      perform { $0.continueRequests(with: files.map { _ in nil }, readAt: nil) }
    }
  }

  private func continueRequests(with credentials: [Credentials?], readAt start: ContinuousClock.Instant?) {
    isReadingCredentials = false
    authenticator?.take(credentials, readAt: start)
    let time = clock.now()
    for connection in connections.open.values {
      guard let (request, id, route) = exchange(&connection.unauthenticated, with: nil) else { continue }
      if connection.state.isCurrent(id) { answer(request, id, by: route, on: connection, at: time) }
      advance(connection)
    }
  }

  /// Refuses a request beyond the limits.
  private func isRefused(
    _ id: UInt64, by route: EndpointRoute, on connection: Connection, at time: EventTime
  ) -> Bool {
    guard let reason = overload(of: route) else { return false }
    route.scrapes?.refused()
    connection.state.answer(.refusal(503, reason), to: id, at: time)
    return true
  }

  private func overload(of route: EndpointRoute) -> String? {
    let isScrape = route.isScrape
    // A quarter of the connections for scrapes, which share gatherings, and at most half for others, so that
    // requests that hang leave some to scrapes and probes.
    let limit = isScrape ? connections.maximum / 4 : min(limits.requestsInFlight, connections.maximum / 2)
    // Requests that wait for credentials count too, because the file system may hang.
    let waiting =
      isReadingCredentials
      ? connections.open.values.count { $0.unauthenticated?.route.isScrape == isScrape } : 0
    if (loads[isScrape]?.requests ?? 0) + waiting >= max(limit, 1) {
      return "too many \(isScrape ? "scrapes" : "requests") are being answered"
    }
    // Handlers of ended requests count too: those that never return would take memory without a bound.
    return runningHandlers[route.path] ?? 0 >= 4 * max(limit, 1)
      ? "too many handlers of this path have not returned" : nil
  }

  private func handlerReturned(
    _ response: EndpointResponse, to id: UInt64, on number: Connection.ID, at path: String
  ) {
    runningHandlers[path, default: 1] -= 1
    guard let connection = connections.open[number], let request = connection.deferred, request.id == id
    else { return overdue.change(by: -1, at: path) }
    connection.deferred = nil
    loads[request.route.isScrape]?.requests -= 1
    let time = clock.now()
    let isSent = send(response, to: id, on: connection, isScrape: request.route.isScrape, at: time)
    request.route.scrapes?.ended(
      with: response, isSent: isSent, after: request.start.duration(to: time.instant))
    advance(connection)
  }

  /// Releases what a connection no longer needs: the body that was sent, and a request that is over although
  /// its handler runs, because its deadline has passed or its client has left. The handler counts until it
  /// returns.
  func release(_ connection: Connection, at time: EventTime) {
    func isOver(_ id: UInt64) -> Bool { connection.isClosed || !connection.state.isCurrent(id) }
    if let body = connection.body, connection.isClosed || connection.state.output.isEmpty {
      loads[body.isScrape]?.unsent.remove(body.id)
      connection.body = nil
    }
    if let waiting = connection.unauthenticated, isOver(waiting.id) { connection.unauthenticated = nil }
    guard let request = connection.deferred, isOver(request.id) else { return }
    overdue.change(by: 1, at: request.route.path)
    loads[request.route.isScrape]?.requests -= 1
    request.route.scrapes?.ended(with: nil, isSent: false, after: request.start.duration(to: time.instant))
    connection.deferred = nil
  }

  /// - Returns: `false` if it is refused because clients have too many unread bytes.
  private func send(
    _ response: EndpointResponse, to id: UInt64, on connection: Connection, isScrape: Bool, at time: EventTime
  ) -> Bool {
    release(connection, at: time)
    if UnsentBytes.keeps(response.body) {
      guard let body = loads[isScrape, default: Load()].unsent.add(response.body, limit: limits.unsentBytes)
      else {
        let reason = "clients have not read \(limits.unsentBytes) bytes of other answers"
        log(503, reason, on: connection, at: time)
        connection.state.answer(.refusal(503, reason), to: id, at: time)
        return false
      }
      connection.body = (body, isScrape)
    }
    connection.state.answer(response, to: id, at: time)
    return true
  }

  /// Logs a refused request, unless there are too many.
  func log(_ status: Int, _ reason: String, on connection: Connection, at time: EventTime) {
    guard let logRefusal, let suppressed = refusals.admit(at: .now) else { return }
    let peer = EndpointAddress(peerOf: connection.descriptor)?.description ?? "a client"
    let more = suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""
    logRefusal("refused \(peer): \(status) \(reason)\(more)")
  }
}
