import Synchronization
import TapCore

/// A path, and the handler that answers GET and HEAD there.
package struct EndpointRoute: Sendable {
  package enum Handler: Sendable {
    /// Answers at once, on the queue of all connections: within microseconds, without blocking.
    case immediate(@Sendable (EndpointRequest) -> EndpointResponse)
    /// Starts work that calls back once, from any thread.
    case deferred(@Sendable (EndpointRequest, @escaping @Sendable (EndpointResponse) -> Void) -> Void)
  }

  package let path: String
  package let handler: Handler
  /// Whether it answers requests for any host, because all on this machine may see it. Other routes answer
  /// only for this machine's names.
  let isPublic: Bool
  /// The metrics of scrapes, whose load has limits of its own.
  let scrapes: ScrapeMetrics?
  var isScrape: Bool { scrapes != nil }

  package init(_ path: String, _ handler: Handler) {
    self.init(path, isPublic: false, scrapes: nil, handler)
  }

  init(_ path: String, isPublic: Bool, scrapes: ScrapeMetrics? = nil, _ handler: Handler) {
    (self.path, self.handler) = (path, handler)
    (self.isPublic, self.scrapes) = (isPublic, scrapes)
  }

  package static func immediate(
    _ path: String, _ handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) -> EndpointRoute {
    EndpointRoute(path, .immediate(handler))
  }

  /// Makes a route whose handler may block or compute. It runs on threads of the route's own, at most 16 at a
  /// time; further requests wait.
  package static func onThreads(
    _ path: String, isPublic: Bool = false,
    _ handler: @escaping @Sendable (EndpointRequest) -> EndpointResponse
  ) -> EndpointRoute {
    let threads = HandlerThreads()
    let start = Handler.deferred { request, complete in
      do {
        try threads.perform { complete(handler(request)) }
      } catch {
        complete(.refusal(503, "the system has no thread for the answer"))
      }
    }
    return EndpointRoute(path, isPublic: isPublic, start)
  }

  /// Makes a route that answers `ok` while the process serves.
  package static func liveness() -> EndpointRoute {
    let response = EndpointResponse.text("ok\n")
    return EndpointRoute("/healthz", isPublic: true, .immediate { _ in response })
  }
}

/// Finds the route of a request, or a route that says why there is none.
struct Router: Sendable {
  /// The methods that a server is expected to recognize and no route takes (RFC 9110, section 9.1). CONNECT
  /// is for proxies.
  private static let refusedMethods: Set = ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]

  private let routes: [String: EndpointRoute]
  private let nothing: EndpointRoute

  var paths: [String] { Array(routes.keys) }

  /// - Parameter routes: Of two with the same path, the first is used.
  init(_ routes: [EndpointRoute]) {
    self.routes = Dictionary(routes.map { ($0.path, $0) }) { first, _ in first }
    let paths = self.routes.keys.sorted().joined(separator: " ")
    nothing = Self.answer(.refusal(404, "nothing is here; this server has \(paths)"))
  }

  func route(for request: EndpointRequest) -> EndpointRoute {
    if request.method == "GET" || request.method == "HEAD" {
      return routes[request.path] ?? nothing
    }
    guard Self.refusedMethods.contains(request.method) else {
      return Self.answer(.refusal(501, "unknown method"))
    }
    // RFC 9110, section 15.5.6: a 405 must carry an Allow field.
    var response = EndpointResponse.refusal(405, "this server takes GET and HEAD")
    response.headers["Allow"] = "GET, HEAD"
    return Self.answer(response)
  }

  private static func answer(_ response: EndpointResponse) -> EndpointRoute {
    .immediate("") { _ in response }
  }
}

/// Runs handlers on threads of its own, so that one that blocks or computes delays neither Swift's threads,
/// nor Dispatch's, nor that of the connections. An idle thread ends.
final class HandlerThreads: Sendable {
  private let limit: Int
  private let state = Mutex((work: [@Sendable () -> Void](), threads: 0))

  /// - Parameter limit: the most threads; further work waits.
  init(limit: Int = 16) { self.limit = limit }

  /// Runs the work. Throws, and does not run it, if the system refuses the only thread.
  func perform(_ work: @escaping @Sendable () -> Void) throws(System.Failure) {
    // Under the lock, so that no work relies on a thread that the system refuses.
    let isTaken = state.withLock { state in
      if state.threads < limit, (try? BackgroundThread.start { [self] in run() }) != nil {
        state.threads += 1
      }
      guard state.threads > 0 else { return false }
      state.work.append(work)
      return true
    }
    if !isTaken { throw .again }
  }

  private func run() {
    while let work = next() { work() }
  }

  /// `nil` ends the thread.
  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if !state.work.isEmpty { return state.work.removeFirst() }
      state.threads -= 1
      return nil
    }
  }
}
