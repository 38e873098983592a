import Dispatch

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
      connection.state.answer(handler(request), to: id, at: time)
    case .deferred(let handler):
      // A quarter of the connections. Scrapes that arrive together share a gathering, so that many cost little.
      guard scrapesInFlight < max(connections.maximum / 4, 1) else {
        return refuse(id, on: connection, "too many scrapes are being answered", at: time)
      }
      scrapesInFlight += 1
      handler(request) { [number = connection.id] response, isSent in
        self.perform { loop in
          // Not at the deadline: what waits for a collector that hangs takes memory, which this bounds.
          loop.scrapesInFlight -= 1
          isSent(loop.answer(response, to: id, on: number))
        }
      }
    case .elsewhere(let handler):
      // The place of the request before, if they arrived together.
      releasePlace(of: connection)
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
      let task = handler(request) { [number = connection.id] response in
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
      router.countOverdue?(-1, path)
      return
    }
    connection.place = nil
    requestsInFlight -= 1
    _ = answer(response, to: id, on: number)
  }

  private func refuse(_ id: UInt64, on connection: Connection, _ reason: String, at time: EventTime) {
    connection.state.answer(.refusal(.serviceUnavailable, reason), to: id, at: time)
  }

  /// Releases the place of a request that is over although its handler runs: its deadline has passed, or its client is gone. The
  /// handler is cancelled, and counted until it returns.
  func releasePlace(of connection: Connection) {
    guard let (id, path, task) = connection.place, connection.isClosed || !connection.state.isCurrent(id)
    else { return }
    router.countOverdue?(1, path)
    requestsInFlight -= 1
    task?.cancel()
    connection.place = nil
  }

  /// - Returns: `false` if its connection is closed, or no longer waits for it.
  private func answer(_ response: EndpointResponse, to id: UInt64, on number: Connection.ID) -> Bool {
    guard let connection = connections.open[number], connection.state.isCurrent(id) else { return false }
    connection.state.answer(response, to: id, at: clock.now())
    advance(connection)
    return true
  }

  /// Logs a refused request, but not each one of a flood.
  func log(_ status: EndpointStatus, _ reason: String, on connection: Connection, at time: EventTime) {
    guard let logRefusal, let suppressed = refusals.admit(at: time.instant) else { return }
    let peer = SocketAddress.peer(connection.descriptor)?.description ?? "a client that is gone"
    logRefusal(
      "refused \(peer.isEmpty ? "a local client" : peer): \(status.rawValue) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }
}

/// Limits the lines about refused requests to ten a minute. A flood of bad requests must not become a flood of lines.
package struct RefusalLog: Sendable {
  private var minuteBegin: ContinuousClock.Instant?
  private var lines = 0
  private var suppressed = 0

  package init() {}

  /// - Returns: how many refusals were not logged before this one; `nil` if this one is not to be logged either.
  package mutating func admit(at instant: ContinuousClock.Instant) -> Int? {
    if minuteBegin.map({ $0.duration(to: instant) >= .seconds(60) }) ?? true {
      (minuteBegin, lines) = (instant, 0)
    }
    guard lines < 10 else {
      suppressed &+= 1
      return nil
    }
    lines += 1
    defer { suppressed = 0 }
    return suppressed
  }
}
