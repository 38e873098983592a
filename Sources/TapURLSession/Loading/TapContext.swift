import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a metrics protocol class leads back to: all that Foundation cannot pass on.
///
/// A configuration has one metrics class, however many taps patch it and however often: it stands for all of its
/// taps, so each of them sees each request once.
final class TapContext: Sendable {
  /// A tap, and the client name under which it records the requests of the configuration.
  struct Client: Sendable {
    let tap: URLSessionTap
    let name: String
  }

  /// The taps that observe the configuration. A tap that has stopped is not among them.
  let clients: [Client]
  /// The classes that load what the metrics protocol observes.
  let loaders: LoaderChain
  /// Sends what no class of the chain loads, where the native loaders are out of reach.
  let forwarding: ForwardingSession?
  /// The tap was put into a session that had made tasks, of which some may be under way.
  let hasOlderTasks: Bool
  /// libcurl's account of the transfers, where there is one.
  let account: CurlAccount?
  /// Whether any tap shows headers, of the response too.
  let keepsHeaders: Bool
  /// What the kernel knows of their connections.
  let sockets = ConnectionSockets()
  /// Counts the transfers that the account covers.
  let count = TransferCount()
  private let hasExcluded = Atomic<Bool>(false)

  init(
    clients: [Client], loaders: LoaderChain, forwarding: ForwardingSession?, hasOlderTasks: Bool = false
  ) {
    self.clients = clients
    self.loaders = loaders
    self.forwarding = forwarding
    self.hasOlderTasks = hasOlderTasks
    account = clients.allSatisfy { $0.tap.configuration.readsAccount } ? .shared : nil
    keepsHeaders = clients.contains { $0.tap.configuration.collectsHeaders }
  }

  /// The same without a tap.
  func without(_ tap: URLSessionTap) -> TapContext {
    let others = TapContext(
      clients: clients.filter { $0.tap !== tap }, loaders: loaders, forwarding: forwarding,
      hasOlderTasks: hasOlderTasks)
    others.hasExcluded.store(!seesAllRequests, ordering: .relaxed)
    return others
  }

  /// Whether every request of the sessions passes here. One that does not may hold a connection that others wait for.
  var seesAllRequests: Bool { !hasOlderTasks && !hasExcluded.load(ordering: .relaxed) }

  /// Whether a tap records requests like this one.
  func accepts(_ request: URLRequest) -> Bool {
    let url = request.url?.absoluteString ?? ""
    guard clients.contains(where: { $0.tap.records(request, url: url) }) else {
      hasExcluded.store(true, ordering: .relaxed)
      return false
    }
    if loaders.load(request, url: url) { return true }
    // A WebSocket takes a connection to its host.
    hasExcluded.store(true, ordering: .relaxed)
    if loaders.refuses(request) { recordRefusal(of: request) }
    return false
  }

  /// The request as each of its taps records it.
  func observe(_ request: URLRequest, url: String) -> [(record: RequestRecord, tap: URLSessionTap)] {
    clients.compactMap { client in
      // With one tap, `accepts` has asked it.
      guard !client.tap.isStopped, clients.count == 1 || client.tap.records(request, url: url) else {
        return nil
      }
      let description = RequestDescription(request, url: url, client: client)
      return (RequestRecord(description, recorder: client.tap.recorder), client.tap)
    }
  }

  /// The loader that the metrics protocol observes.
  func makeLoader(
    for task: URLSessionTask, request: URLRequest, cachedResponse: CachedURLResponse?,
    client: any URLProtocolClient
  ) -> URLProtocol? {
    if let forwarding, loaders.ownLoader(for: request) == nil {
      return ForwardingLoader(task: task, request: request, client: client, session: forwarding)
    }
    return loaders.loader(for: request)?.init(task: task, cachedResponse: cachedResponse, client: client)
  }

  /// Foundation fails a task that no loader takes by itself and asks no loader: the question is the one sign of it.
  private func recordRefusal(of request: URLRequest) {
    let now = Instant.now
    for (refused, _) in observe(request, url: request.url?.absoluteString ?? "") {
      refused.begin(at: now)
      refused.end(.failure(.unsupportedURL, statusCode: nil), at: now)
    }
  }
}

extension RequestDescription {
  /// Describes a request as the app made it. A template of its own takes precedence over the tap's.
  fileprivate init(_ request: URLRequest, url: String, client: TapContext.Client) {
    let (configuration, context, headers) = (
      client.tap.configuration, request.tapContext, request.allHTTPHeaderFields ?? [:]
    )
    let server = URLAuthority(url)
    let traceparent = headers.first { Self.isTraceparent($0.key) }?.value
    self.init(
      client: client.name, method: request.httpMethod ?? "GET", url: url, serverAddress: server?.host,
      serverPort: server?.port,
      urlTemplate: context?.urlTemplate ?? configuration.pathTemplates.template(forURL: url),
      traceContext: traceparent.flatMap(TraceContext.init(traceparent:)) ?? context?.traceContext,
      fields: context?.fields ?? [:], headers: configuration.collectsHeaders ? headers : [:])
  }

  /// In any case (RFC 9110, section 5.1), and without a copy in lowercase of each name, as Foundation's own search makes.
  private static func isTraceparent(_ name: String) -> Bool {
    name.utf8.count == 11 && name.lowercased() == "traceparent"
  }
}

/// Counts the transfers of a configuration's sessions, to say of most of them that they did not wait for a connection.
///
/// A transfer waits only if the session's other transfers have taken all connections that one host gets
/// (`httpMaximumConnectionsPerHost`). While there are no more transfers than that, none waits, whatever their hosts. One count and
/// one instant do for that: the cost does not depend on how many transfers there are.
final class TransferCount: Sendable {
  private struct State {
    var count = 0
    /// The least of the sessions' limits.
    var limit = Int.max
    /// When there were last more transfers than connections.
    var lastExceeded: Instant?

    mutating func note(at now: Instant) {
      if count > limit { lastExceeded = now }
    }
  }

  private let state = Mutex(State())

  /// A transfer begins.
  ///
  /// - Parameter limit: How many connections its session opens to a host. 0 or less is no limit.
  func enter(limit: Int, at now: Instant) {
    state.withLock { state in
      if limit > 0 { state.limit = min(state.limit, limit) }
      state.count += 1
      state.note(at: now)
    }
  }

  /// A transfer ends.
  func leave(at now: Instant) {
    state.withLock { state in
      state.note(at: now)
      state.count -= 1
    }
  }

  /// Whether there were never more transfers than connections since an instant.
  func hasHadRoom(since start: Instant) -> Bool {
    state.withLock { state in
      state.count <= state.limit && state.lastExceeded.map { $0 < start } ?? true
    }
  }
}
