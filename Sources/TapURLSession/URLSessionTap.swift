import Foundation
import Synchronization
public import TapCore

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Observes the requests of URLSessions whose configurations it has patched.
///
/// ```swift
/// let recorder = try RequestRecorder(registry: registry)
/// let tap = URLSessionTap(recorder: recorder)
/// let session = URLSession(configuration: tap.sessionConfiguration(from: .default, client: "payments"))
/// ```
///
/// The tap changes nothing of a request and sends nothing: it stands before the loader that a task has
/// anyway. A tap can patch any number of configurations, and several taps may patch the same one, in any order and
/// however often: each then observes every request once. All members may be called from any thread.
public final class URLSessionTap: Sendable {
  /// The names of clients that one tap tells apart. Further ones are recorded as ``overflowClient``, so that
  /// names made at run time cannot grow the process.
  public static let clientLimit = 256

  /// The client name under which requests beyond ``clientLimit`` are recorded.
  public static let overflowClient = "_OTHER"

  /// Whether this process can read what libcurl knows of each transfer. Where it cannot, sizes come from headers, and
  /// there are no phases.
  public static var readsTransferInfo: Bool { CurlAccount.shared != nil }

  /// What counts for URLSessions alone, with its defaults. The recorder says which requests are recorded.
  public struct Configuration: Sendable {
    /// After how long a request gets a warning in the log whose challenge is not answered, and which Foundation may never end.
    /// `nil` warns of none. 60 s.
    public var waitingLimit: Duration? = .seconds(60)
    /// Whether observers get the headers of requests and responses, for those that show some. Not by default.
    /// Headers of a session's `httpAdditionalHeaders` are not among them: on Linux Foundation adds those later.
    public var collectsHeaders = false

    /// Whether libcurl's account of each transfer is read, where there is one. A test reads none.
    package var readsAccount = true
    /// Takes a request that has waited for so long, once, on a queue of the tap's.
    package var reportWaiting: (@Sendable (RequestDescription, Duration) -> Void)?

    /// Makes the default configuration.
    public init() {}
  }

  private struct State {
    var clients: Set<String> = []
    var isStopped = false
  }

  let configuration: Configuration
  /// Where the requests are recorded.
  package let recorder: RequestRecorder
  private let state = Mutex(State())
  /// The port of the app's own endpoint, or 0.
  private let ownPort = Atomic<Int>(0)

  /// Makes a tap.
  ///
  /// - Parameters:
  ///   - recorder: Where the requests are recorded.
  ///   - configuration: What counts for URLSessions alone.
  public init(recorder: RequestRecorder, configuration: Configuration = Configuration()) {
    self.recorder = recorder
    self.configuration = configuration
  }

  /// A copy of a configuration whose sessions this tap observes.
  ///
  /// The original is left alone. Protocol classes of the app's own stay behind the tap, in their order, and
  /// still get the requests that they take. Patching a patched configuration again gives it the new client
  /// name and observes each request once. Patch last: a class that is put before the tap later hides the
  /// requests that it takes.
  ///
  /// - Parameters:
  ///   - configuration: What to copy.
  ///   - client: The name for the `client` label and log field. Name what the session is for, such as
  ///     `payments`; see ``clientLimit``.
  public func sessionConfiguration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    guard let copy = configuration.copy() as? URLSessionConfiguration else { return configuration }
    install(in: copy, client: client)
    return copy
  }

  /// Observes the requests that a session starts from now on, `URLSession.shared` included.
  ///
  /// On Linux a session's configuration is live: the tap is put into its `protocolClasses`, and taken out by
  /// ``uninstall(from:)``. To install again under another name changes the name. Foundation reads the list
  /// without a lock whenever a task is resumed first, so install before the session is in use, or while no
  /// other thread resumes its tasks. Sessions that others make from `.default` are out of reach.
  ///
  /// On Apple's platforms a session's configuration is a copy, and nothing can be installed.
  ///
  /// - Parameters:
  ///   - session: The session, in use or not.
  ///   - client: The name for the `client` label and log field.
  /// - Returns: Whether the session is observed now.
  @discardableResult
  public func install(on session: URLSession, client: String) -> Bool {
    let isUsed = CurlAccount.shared?.isUsed(session) ?? true
    install(in: session.configuration, client: client, hasOlderTasks: isUsed)
    return session.configuration.protocolClasses?.contains(where: isOwn) ?? false
  }

  /// Ends the observation of a session that ``install(on:client:)`` began. Requests under way are still
  /// recorded when they end. The rule for other threads is the same.
  public func uninstall(from session: URLSession) {
    let classes = session.configuration.protocolClasses ?? []
    guard classes.contains(where: isOwn) else { return }
    session.configuration.protocolClasses = classes.compactMap { someClass in
      guard let context = ProtocolClasses.context(of: someClass), isOwn(someClass) else { return someClass }
      let others = context.without(self)
      return others.clients.isEmpty ? nil : ProtocolClasses.metricsClass(for: others)
    }
  }

  /// Ends the observation: requests that start from now on are not recorded; those that run are, when they
  /// end. Sessions with a patched configuration go on as if it were not patched. Cannot be undone.
  public func stop() {
    state.withLock { $0.isStopped = true }
    ProtocolClasses.forget(self)
  }

  /// Whether the tap observes no more. Set before the table of classes forgets the tap.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Requests to this port of this machine are never recorded: they are scrapes of the app by itself.
  package func exclude(ownPort: Int?) {
    self.ownPort.store(ownPort ?? 0, ordering: .relaxed)
  }

  /// Whether a request is to be recorded.
  ///
  /// - Parameters:
  ///   - url: The text of the request's URL.
  ///   - description: The request, if the filter has to see it.
  func records(url: String, _ description: () -> RequestDescription) -> Bool {
    let ownPort = ownPort.load(ordering: .relaxed)
    if ownPort != 0, let server = URLAuthority(url), server.port == ownPort, Self.isLoopback(server.host) {
      return false
    }
    let filter = recorder.outboundOptions.filter
    return filter.isAll || filter.includes(description())
  }

  /// Whether a host is this machine by one of its usual names (RFC 6761, section 6.3; RFC 1122, section
  /// 3.2.1.3; RFC 4291, section 2.5.3).
  private static func isLoopback(_ host: String) -> Bool {
    let host = host.lowercased()
    return host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }

  /// - Parameter forwards: Whether requests are sent by a session of the tap's: where no native loader is in reach.
  func install(
    in configuration: URLSessionConfiguration, client: String, forwards: Bool = URLSessionTap.forwards,
    hasOlderTasks: Bool = false
  ) {
    guard !isStopped else { return }
    let classes = configuration.protocolClasses ?? []
    let contexts = classes.map { ProtocolClasses.context(of: $0) }
    let others = zip(classes, contexts).filter { $1 == nil }.map(\.0)
    // One class for all taps, each of which observes the configuration once, under its last name.
    let patched = contexts.flatMap { $0?.clients ?? [] }
    let isFirst = { (index: Int) in !patched[..<index].contains { $0.tap === patched[index].tap } }
    var clients = patched.indices.filter { isFirst($0) && patched[$0].tap !== self }.map { patched[$0] }
    let name = state.withLock { state in
      let hasRoom = state.clients.count < Self.clientLimit || state.clients.contains(client)
      if hasRoom { state.clients.insert(client) }
      return hasRoom ? client : Self.overflowClient
    }
    clients.append(TapContext.Client(tap: self, name: name))
    configuration.protocolClasses = others
    let metricsClass = ProtocolClasses.metricsClass(
      for: TapContext(
        clients: clients, loaders: others.compactMap { $0 as? URLProtocol.Type },
        forwarding: forwards ? ForwardingSession(configuration) : nil,
        hasOlderTasks: hasOlderTasks || contexts.contains { $0?.hasOlderTasks == true }))
    configuration.protocolClasses = [metricsClass] + others
  }

  #if canImport(FoundationNetworking)
    static let forwards = false
  #else
    static let forwards = true
  #endif

  private func isOwn(_ someClass: AnyClass) -> Bool {
    ProtocolClasses.context(of: someClass)?.clients.contains { $0.tap === self } ?? false
  }
}
