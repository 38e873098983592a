/// Passes requests to handlers, and their answers back.
extension EventLoop {
  func handle(_ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime) {
    let refusal = authenticator?.refusal(request)
    let route = router.route(for: request)
    if let refusal = refusal ?? (route.isPublic ? nil : hosts?.refusal(request)) {
      let reason = refusal.status == 421 ? "a host that is not allowed" : "credentials"
      log(refusal.status, reason, on: connection, at: time)
      return connection.state.answer(refusal, to: id, at: time)
    }
    switch route.handler {
    case .immediate(let handler):
      _ = send(handler(request), to: id, on: connection, at: time)
    case .scrape(let handler):
      // A quarter of the connections. Scrapes that arrive together share a gathering, so that many cost little.
      guard scrapesInFlight < max(connections.maximum / 4, 1) else {
        return refuse(id, on: connection, "too many scrapes are being answered", at: time)
      }
      scrapesInFlight += 1
      handler(request) { [number = connection.id] response, isSent in
        self.perform { loop in
          // Not at the deadline: what waits for a collector that hangs takes memory, which this bounds.
          loop.scrapesInFlight -= 1
          isSent(loop.answer(response, to: id, on: number, isScrape: true))
        }
      }
    case .task(let makeTask):
      // The place of the request before, if they arrived together.
      release(connection)
      // Half of the connections at most, so that requests that hang leave some to scrapes and probes.
      let limit = min(limits.requestsInFlight, max(connections.maximum / 2, 1))
      guard requestsInFlight < limit else {
        return refuse(id, on: connection, "too many requests are being answered", at: time)
      }
      // Those of requests that are over, too: what never returns would take memory without a bound.
      guard runningHandlers[route.path, default: 0] < 4 * limit else {
        return refuse(id, on: connection, "too many handlers of this path have not returned", at: time)
      }
      requestsInFlight += 1
      runningHandlers[route.path, default: 0] += 1
      let task = makeTask(request) { [number = connection.id] response in
        self.perform { $0.handlerReturned(response, to: id, on: number, at: route.path) }
      }
      connection.place = (id, route.path, task)
    }
  }

  private func handlerReturned(
    _ response: EndpointResponse, to id: UInt64, on number: Connection.ID, at path: String
  ) {
    runningHandlers[path, default: 1] -= 1
    guard let connection = connections.open[number], connection.place?.id == id else {
      return overdue.change(by: -1, at: path)
    }
    connection.place = nil
    requestsInFlight -= 1
    _ = answer(response, to: id, on: number, isScrape: false)
  }

  private func refuse(_ id: UInt64, on connection: Connection, _ reason: String, at time: EventTime) {
    connection.state.answer(.refusal(503, reason), to: id, at: time)
  }

  /// Releases what a connection no longer needs: the body that is sent, and the place of a request that is over although its handler
  /// runs, because its deadline has passed or its client is gone. The handler is cancelled, and counted until it returns.
  func release(_ connection: Connection) {
    if let body = connection.body, connection.isClosed || connection.state.output.isEmpty {
      if body.isScrape { unsentScrapes.remove(body.id) } else { unsentAnswers.remove(body.id) }
      connection.body = nil
    }
    guard let (id, path, task) = connection.place, connection.isClosed || !connection.state.isCurrent(id)
    else { return }
    overdue.change(by: 1, at: path)
    requestsInFlight -= 1
    task.cancel()
    connection.place = nil
  }

  /// - Returns: `false` if its connection is closed or no longer waits for it, or too much is unsent.
  private func answer(
    _ response: EndpointResponse, to id: UInt64, on number: Connection.ID, isScrape: Bool
  ) -> Bool {
    guard let connection = connections.open[number], connection.state.isCurrent(id) else { return false }
    defer { advance(connection) }
    return send(response, to: id, on: connection, isScrape: isScrape, at: clock.now())
  }

  /// - Returns: `false` if it is not sent since clients have yet to read too much.
  private func send(
    _ response: EndpointResponse, to id: UInt64, on connection: Connection, isScrape: Bool = false,
    at time: EventTime
  ) -> Bool {
    release(connection)
    if UnsentBytes.keeps(response.body) {
      let body =
        isScrape
        ? unsentScrapes.add(response.body, limit: limits.unsentBytes)
        : unsentAnswers.add(response.body, limit: limits.unsentBytes)
      guard let body else {
        let reason = "clients have not read \(limits.unsentBytes) bytes of other answers"
        log(503, reason, on: connection, at: time)
        refuse(id, on: connection, reason, at: time)
        return false
      }
      connection.body = (body, isScrape)
    }
    connection.state.answer(response, to: id, at: time)
    return true
  }

  /// Logs a refused request, but not each one of a flood.
  func log(_ status: Int, _ reason: String, on connection: Connection, at time: EventTime) {
    guard let logRefusal, let suppressed = refusals.admit(at: time.instant) else { return }
    let peer = SocketAddress.peer(connection.descriptor)?.description ?? "a client that is gone"
    logRefusal(
      "refused \(peer.isEmpty ? "a local client" : peer): \(status) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }
}
