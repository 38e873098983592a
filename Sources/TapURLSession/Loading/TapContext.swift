import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A tap, and the client name under which it records the requests of a configuration. A class, since each request keeps it.
final class TapClient: Sendable {
  let tap: URLSessionTap
  let name: String

  init(tap: URLSessionTap, name: String) {
    self.tap = tap
    self.name = name
  }
}

/// What a metrics protocol class leads back to: all that Foundation cannot pass on.
///
/// A configuration has one metrics class, however many taps patch it and however often: it stands for all of its
/// taps, so each of them sees each request once.
final class TapContext: Sendable {
  /// The taps that observe the configuration. A tap that has stopped is not among them.
  let clients: [TapClient]
  /// The classes that load what the metrics protocol observes.
  let loaders: LoaderChain
  /// Sends what no class of the chain loads, where the native loaders are out of reach.
  let forwarding: ForwardingSession?
  /// The tap was put into a session that had made tasks, of which some may be under way.
  let hasOlderTasks: Bool
  /// libcurl's account of the transfers, where there is one.
  let account: CurlAccount?
  /// What the kernel knows of their connections.
  let sockets = ConnectionSockets()
  /// Counts the transfers that the account covers.
  let count = TransferCount()
  private let hasExcluded = Atomic<Bool>(false)

  init(
    clients: [TapClient], loaders: LoaderChain, forwarding: ForwardingSession?, hasOlderTasks: Bool = false
  ) {
    self.clients = clients
    self.loaders = loaders
    self.forwarding = forwarding
    self.hasOlderTasks = hasOlderTasks
    account = clients.allSatisfy { $0.tap.configuration.readsAccount } ? .shared : nil
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

  /// What is known of a request before its transfer.
  func transfer(of request: URLRequest) -> Transfer {
    Transfer(
      request, taskContext: TapRequestContext.current,
      keepsHeaders: clients.contains { $0.tap.configuration.collectsHeaders })
  }

  /// The request as its taps record it, an object for each.
  func observe(
    _ request: URLRequest, _ transfer: Transfer
  ) -> [(request: RequestRecord, waitingLimit: Duration?)] {
    // With one tap, `accepts` has asked it.
    let observing =
      clients.count < 2
      ? clients
      : clients.filter { $0.tap.records(request, url: request.url?.absoluteString ?? "") }
    return observing.filter { !$0.tap.isStopped }.map { client in
      let source = TappedTransfer(transfer: transfer, client: client)
      return (RequestRecord(source, recorder: client.tap.recorder), client.tap.configuration.waitingLimit)
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
    let (now, time) = (Instant.now, Timestamp.now)
    for (refused, _) in observe(request, transfer(of: request)) {
      refused.begin(at: now, time: time)
      refused.end(.failure(.unsupportedURL, statusCode: nil), at: now)
    }
  }
}
