import Dispatch
import Synchronization
public import TapCore
public import TapFoundation

/// Observes the requests of URLSessions with patched configurations.
///
///     let tap = URLSessionTap(recorder: try RequestRecorder(registry: registry))
///     let session = URLSession(configuration: tap.sessionConfiguration(from: .default, client: "payments"))
///
/// The tap changes no request and sends nothing: it stands before the task's loader. Several taps may patch
/// one configuration, in any order and repeatedly: each observes every request once. Of more than 256 client
/// names, the last ones are `_OTHER`, so that names made at run time take bounded memory. Any thread may use
/// all members.
public final class URLSessionTap: Sendable {
  private static let clientLimit = 256
  private static let overflowClient = "_OTHER"

  /// Settings for URLSessions alone. The recorder decides which requests are recorded.
  package struct Configuration: Sendable {
    /// Whether what is recorded has the headers of request and response. A session's `httpAdditionalHeaders`
    /// are not among them, because Foundation on Linux adds those later.
    package var collectsHeaders = false
    /// Reads libcurl's info of each transfer, or `nil` if nothing does. A test has none, or another one.
    package var curl = CurlInfo.shared
    /// Counts requests at whose end the kernel could not be asked about the connection.
    package var unknownConnections: Registry.Counter?
    /// Takes a line for the log when a witness is no longer believed, on Foundation's queue.
    package var reportDisbelief: (@Sendable (String) -> Void)?

    package init() {}

    /// Whether libcurl's info of transfers is used. If not, sizes come from headers, and there are no phases.
    package var readsTransferInfo: Bool { curl != nil && Witness.libcurl.isBelieved }

    /// Whether the kernel's info of connections is used. If not, a sandbox answers in its place.
    package var readsConnectionInfo: Bool { readsTransferInfo && TCPInfo.isUsed }
  }

  let configuration: Configuration
  package let recorder: RequestRecorder
  private let clientNames = Mutex<Set<String>>([])
  private let hasStopped = Atomic(false)

  /// Makes a tap that records where the recorder says.
  public convenience init(recorder: RequestRecorder) {
    self.init(recorder: recorder, configuration: Configuration())
  }

  package init(recorder: RequestRecorder, configuration: Configuration) {
    (self.recorder, self.configuration) = (recorder, configuration)
  }

  /// Copies a configuration so that this tap observes its sessions. The client is the name for the `client`
  /// label and log field: what the session is for.
  ///
  /// The app's own protocol classes stay behind the tap, in their order, and still get the requests that they
  /// take. Patching a configuration again changes the client name. Patch last: a class that is put before the
  /// tap later hides its requests.
  public func sessionConfiguration(
    from configuration: URLSessionConfiguration = .default, client: String
  ) -> URLSessionConfiguration {
    guard let copy = configuration.copy() as? URLSessionConfiguration else { return configuration }
    install(in: copy, client: client)
    return copy
  }

  /// Observes the requests that a session starts from now on, `URLSession.shared` included, under a name for
  /// the `client` label and log field. Returns whether it is observed now: on Apple platforms it is not.
  ///
  /// On Linux a session's configuration is live: this adds the tap to its `protocolClasses`, and
  /// ``uninstall(from:)`` removes it. Foundation reads the list without a lock when a task is first resumed,
  /// so install before the session is in use, or while no other thread resumes its tasks.
  @discardableResult
  public func install(on session: URLSession, client: String) -> Bool {
    let isUsed = CurlInfo.shared?.foundation.isUsed(session) ?? true
    install(in: session.configuration, client: client, hasOlderTasks: isUsed)
    return session.configuration.protocolClasses?.contains(where: isOwn) ?? false
  }

  /// Observes a session that has just been made, unless this tap observes it already.
  ///
  /// - Parameter client: The name by the configuration, or `nil` not to observe it.
  package func installOnce(on session: URLSession, client: (URLSessionConfiguration) -> String?) {
    let classes = session.configuration.protocolClasses ?? []
    guard !classes.contains(where: isOwn), let name = client(session.configuration) else { return }
    install(in: session.configuration, client: name)
  }

  /// Makes no requests, and lists its tasks on the queue that all sessions share. It answers by a queue of
  /// its own: that of a session without one is in Dispatch's pool, which the app can fill with blocks that
  /// wait, while the sessions' queue has a thread beyond the pool.
  private static let askingSession = $isMakingOwnSession.withValue(true) {
    let answers = OperationQueue()
    answers.underlyingQueue = comparedQueue
    return URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: answers)
  }

  /// Runs unless Dispatch has no thread for any queue.
  private static let comparedQueue = DispatchQueue(label: "session-tap.queue-probe")

  /// Watches the queue of all sessions by questions that run on it: a session lists its tasks there.
  ///
  /// The app's thread makes that session, which is about to make one itself. The first session of a process
  /// initialises OpenSSL, and exit(3) cleans OpenSSL up while other threads use it (openssl #17469): on a
  /// thread of the tap that could end the process with a fault.
  private func watchQueue() {
    let (session, compared) = (Self.askingSession, Self.comparedQueue)
    // Flush before OpenSSL's clean-up: in each moment that the process lives after it, a transfer may use
    // OpenSSL.
    ExitFlush.precedeEarlierFunctions()
    recorder.watch(
      QueueProbe(compare: { answer in compared.async { answer() } }) { answer in
        session.getAllTasks { _ in answer() }
      })
  }

  /// Whether a session is made for a tap's own requests, which are never observed.
  @TaskLocal package static var isMakingOwnSession = false

  /// Ends the observation that ``install(on:client:)`` began. Active requests are still recorded when they
  /// end. The same rule for other threads applies.
  public func uninstall(from session: URLSession) {
    let classes = session.configuration.protocolClasses ?? []
    guard classes.contains(where: isOwn) else { return }
    session.configuration.protocolClasses = classes.compactMap { someClass in
      guard let context = ProtocolClasses.context(of: someClass), isOwn(someClass) else { return someClass }
      let others = context.without(self)
      return others.clients.isEmpty ? nil : ProtocolClasses.metricsClass(for: others)
    }
  }

  /// Ends the observation. Requests that start later are not recorded; active requests are, when they end.
  /// Sessions with a patched configuration continue unobserved. Cannot be undone.
  public func stop() {
    hasStopped.store(true, ordering: .sequentiallyConsistent)
    ProtocolClasses.forget(self)
    recorder.stopTracing()
  }

  /// Whether the tap observes no more. Set before the table of classes forgets the tap.
  package var isStopped: Bool { hasStopped.load(ordering: .sequentiallyConsistent) }

  func install(in configuration: URLSessionConfiguration, client: String, hasOlderTasks: Bool = false) {
    // Elsewhere the loaders of Foundation's tasks are out of reach.
    #if !canImport(FoundationNetworking)
      return
    #endif
    guard !isStopped else { return }
    let classes = configuration.protocolClasses ?? []
    let contexts = classes.map { ProtocolClasses.context(of: $0) }
    let others = zip(classes, contexts).filter { $1 == nil }.map(\.0)
    // One class for all taps, each of which observes the configuration once, under its last name.
    var clients: [TapContext.Client] = []
    for client in contexts.flatMap({ $0?.clients ?? [] })
    where client.tap !== self && !clients.contains(where: { $0.tap === client.tap }) {
      clients.append(client)
    }
    let (name, isFirst) = clientNames.withLock { names in
      let isFirst = names.isEmpty
      let hasRoom = names.count < Self.clientLimit || names.contains(client)
      if hasRoom { names.insert(client) }
      return (hasRoom ? client : Self.overflowClient, isFirst)
    }
    if isFirst { watchQueue() }
    clients.append(TapContext.Client(tap: self, name: name))
    let metricsClass = ProtocolClasses.metricsClass(
      for: TapContext(
        clients: clients, loaders: others.compactMap { $0 as? URLProtocol.Type },
        hasOlderTasks: hasOlderTasks))
    configuration.protocolClasses = [metricsClass] + others
  }

  private func isOwn(_ someClass: AnyClass) -> Bool {
    ProtocolClasses.context(of: someClass)?.clients.contains { $0.tap === self } ?? false
  }
}
