import Synchronization
import TapCore

/// Passes requests to handlers, and their answers back.
extension EventLoop {
  /// What scrapes or all other requests take. Each has its own, so that neither takes the other's.
  struct Load {
    /// The requests that wait for a handler.
    var requests = 0
    var unsent = UnsentBodies()
  }

  func handle(_ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime) {
    if let authenticator, authenticator.isOutdated(for: request, at: time.instant) {
      let route = router.route(for: request)
      if let reason = lackOfPlaces(at: route) {
        route.scrapes?.refused()
        return connection.state.answer(.refusal(503, reason), to: id, at: time)
      }
      connection.unauthenticated = (request, id, isScrape: route.scrapes != nil)
      return readCredentials(of: authenticator.files)
    }
    route(request, id, on: connection, at: time)
  }

  private func route(_ request: EndpointRequest, _ id: UInt64, on connection: Connection, at time: EventTime)
  {
    let refusal = authenticator?.refusal(request)
    let route = router.route(for: request)
    if let refusal = refusal ?? (route.isPublic ? nil : hosts?.refusal(request)) {
      let reason = refusal.status == 421 ? "a host that is not allowed" : "credentials"
      log(refusal.status, reason, on: connection, at: time)
      return connection.state.answer(refusal, to: id, at: time)
    }
    switch route.handler {
    case .immediate(let handler):
      _ = send(handler(request), to: id, on: connection, isScrape: false, at: time)
    case .deferred(let start):
      // The place of the request before, if they arrived together.
      release(connection, at: time)
      if let reason = lackOfPlaces(at: route) {
        route.scrapes?.refused()
        return connection.state.answer(.refusal(503, reason), to: id, at: time)
      }
      loads[route.scrapes != nil, default: Load()].requests += 1
      runningHandlers[route.path, default: 0] += 1
      route.scrapes?.started()
      let cancel = start(request) { [number = connection.id] response in
        self.perform { $0.handlerReturned(response, to: id, on: number, at: route.path) }
      }
      connection.place = Connection.Place(id: id, route: route, start: time.instant, cancel: cancel)
    }
  }

  /// Reads the files on another thread, then goes on with the requests that wait for it.
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
      guard let (request, id, _) = exchange(&connection.unauthenticated, with: nil) else { continue }
      if connection.state.isCurrent(id) { route(request, id, on: connection, at: time) }
      advance(connection)
    }
  }

  private func lackOfPlaces(at route: EndpointRoute) -> String? {
    let isScrape = route.scrapes != nil
    // A quarter of the connections for scrapes, which share gatherings, and at most half for others, so that
    // requests that hang leave some to scrapes and probes.
    let limit = isScrape ? connections.maximum / 4 : min(limits.requestsInFlight, connections.maximum / 2)
    // Those that wait for credentials take places, too: the file system of these may hang.
    let waiting =
      isReadingCredentials ? connections.open.values.count { $0.unauthenticated?.isScrape == isScrape } : 0
    if (loads[isScrape]?.requests ?? 0) + waiting >= max(limit, 1) {
      return "too many \(isScrape ? "scrapes" : "requests") are being answered"
    }
    // Those of requests that are over, too: what never returns would take memory without a bound.
    return runningHandlers[route.path] ?? 0 >= 4 * max(limit, 1)
      ? "too many handlers of this path have not returned" : nil
  }

  private func handlerReturned(
    _ response: EndpointResponse, to id: UInt64, on number: Connection.ID, at path: String
  ) {
    runningHandlers[path, default: 1] -= 1
    guard let connection = connections.open[number], let place = connection.place, place.id == id else {
      return overdue.change(by: -1, at: path)
    }
    connection.place = nil
    loads[place.isScrape]?.requests -= 1
    let time = clock.now()
    let isSent = send(response, to: id, on: connection, isScrape: place.isScrape, at: time)
    place.route.scrapes?.ended(with: response, isSent: isSent, after: place.start.duration(to: time.instant))
    advance(connection)
  }

  /// Releases what a connection no longer needs: the body that is sent, and the place of a request that is
  /// over although its handler runs, because its deadline has passed or its client is gone. The handler is
  /// cancelled, and counted until it returns.
  func release(_ connection: Connection, at time: EventTime) {
    if let body = connection.body, connection.isClosed || connection.state.output.isEmpty {
      loads[body.isScrape]?.unsent.remove(body.id)
      connection.body = nil
    }
    if let waiting = connection.unauthenticated,
      connection.isClosed || !connection.state.isCurrent(waiting.id)
    {
      connection.unauthenticated = nil
    }
    guard let place = connection.place, connection.isClosed || !connection.state.isCurrent(place.id)
    else { return }
    overdue.change(by: 1, at: place.route.path)
    loads[place.isScrape]?.requests -= 1
    place.route.scrapes?.ended(with: nil, isSent: false, after: place.start.duration(to: time.instant))
    place.cancel()
    connection.place = nil
  }

  /// - Returns: `false` if it is not sent since clients have yet to read too much.
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

  /// Logs a refused request, but not each one of a flood.
  func log(_ status: Int, _ reason: String, on connection: Connection, at time: EventTime) {
    guard let logRefusal, let suppressed = refusals.admit(at: time.instant) else { return }
    let peer = SocketAddress.peer(connection.descriptor)?.description ?? "a client"
    logRefusal(
      "refused \(peer): \(status) \(reason)"
        + (suppressed > 0 ? " (and \(suppressed) more since the last line)" : ""))
  }
}

/// Counts the handlers that outlive their requests, by the path of their route.
final class OverdueHandlers: Collector {
  private let counts = Mutex<[String: Int]>([:])

  func change(by change: Int, at path: String) { counts.withLock { $0[path, default: 0] += change } }

  func collect() -> [MetricFamily] {
    let samples = counts.withLock { $0 }.map { path, count in
      MetricFamily.Sample(labels: ["path": path], value: Double(count))
    }
    return [
      MetricFamily(
        name: "session_tap_overdue_handlers",
        help:
          "Handlers of routes that run although their request is over: its deadline has passed, or its client is gone.",
        kind: .gauge, samples: samples)
    ]
  }
}

/// Limits the lines about refused requests to ten a minute. A flood of bad requests must not become a flood
/// of lines.
package struct RefusalLog: Sendable {
  private var minuteBegin: ContinuousClock.Instant?
  private var lines = 0
  private var suppressed = 0

  package init() {}

  /// - Returns: how many refusals were not logged before this one; `nil` if this one is not to be logged
  ///   either.
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

/// The bodies that connections have yet to send. One that several connections share counts once.
struct UnsentBodies {
  /// The address of a body's bytes, which are not moved as long as a connection has them.
  typealias ID = UnsafeRawPointer

  private var bodies: [ID: (bytes: Int, users: Int)] = [:]
  private var bytes = 0

  /// - Returns: `nil` if there would be more bytes than the limit. One body may always be sent.
  mutating func add(_ body: [UInt8], limit: Int) -> ID? {
    guard let id = body.withUnsafeBytes({ $0.baseAddress }) else { return nil }
    guard bodies[id] != nil || bodies.isEmpty || body.count <= limit - bytes else { return nil }
    if bodies[id] == nil { bytes += body.count }
    bodies[id, default: (body.count, 0)].users += 1
    return id
  }

  mutating func remove(_ id: ID) {
    guard let body = bodies[id] else { return }
    if body.users > 1 {
      bodies[id]?.users -= 1
    } else {
      bodies[id] = nil
      bytes -= body.bytes
    }
  }
}
