import Synchronization
import TapCore
import TapFoundation

/// What a metrics protocol class knows of its configuration: all that Foundation cannot pass on.
///
/// A configuration has one metrics class for all taps that patch it, so each of them sees each request once.
final class TapContext: Sendable {
  /// A tap, and the client name under which it records the requests of the configuration.
  struct Client: Sendable {
    let tap: URLSessionTap
    let name: String
  }

  /// The taps that observe the configuration. A tap that has stopped is not among them.
  let clients: [Client]
  /// The protocol classes that stand behind ours, in the configuration's order.
  private let loaders: [URLProtocol.Type]
  /// The native loader, if it is the first of them: it takes every http and https request.
  let nativeFirst: URLProtocol.Type?
  /// The tap was installed on a session that had made tasks, of which some may be active.
  let hasOlderTasks: Bool
  /// Reads libcurl's info of the transfers, where it can.
  let curl: CurlInfo?
  /// Whether any tap shows headers, of the response too.
  let keepsHeaders: Bool
  /// What the kernel knows of their connections.
  let connections = Connections()
  /// Counts the transfers that are libcurl's.
  let count: TransferCount
  private let hasExcluded = Atomic<Bool>(false)
  private let hasWarned = Atomic<Bool>(false)

  init(
    clients: [Client], loaders: [URLProtocol.Type], hasOlderTasks: Bool = false,
    count: TransferCount = TransferCount()
  ) {
    self.count = count
    (self.clients, self.loaders, self.hasOlderTasks) = (clients, loaders, hasOlderTasks)
    nativeFirst = loaders.first.flatMap { $0 == Self.nativeHTTP ? $0 : nil }
    let readers = clients.map(\.tap.configuration.curl)
    curl = readers.allSatisfy { $0 != nil } ? readers.first ?? nil : nil
    keepsHeaders = clients.contains { $0.tap.configuration.collectsHeaders }
  }

  /// The same without a tap.
  func without(_ tap: URLSessionTap) -> TapContext {
    let others = TapContext(
      clients: clients.filter { $0.tap !== tap }, loaders: loaders, hasOlderTasks: hasOlderTasks,
      // Transfers that began before use connections.
      count: count)
    others.hasExcluded.store(!seesAllRequests, ordering: .relaxed)
    return others
  }

  /// `false` once a request bypassed the tap: it may use a connection that others wait for.
  var seesAllRequests: Bool { !hasOlderTasks && !hasExcluded.load(ordering: .relaxed) }

  /// Whether both do the same: the same taps under the same names, before the same loaders.
  func isEquivalent(to other: TapContext) -> Bool {
    clients.elementsEqual(other.clients) { $0.tap === $1.tap && $0.name == $1.name }
      && loaders.elementsEqual(other.loaders, by: ==)
      && hasOlderTasks == other.hasOlderTasks
  }

  /// The class that loads a request like this one, if a tap records it.
  ///
  /// Only http and https are ours, in lowercase as the native loaders want them: a native WebSocket task
  /// casts its loader to the native class, and other schemes have no metrics here.
  ///
  /// - Parameter trace: The trace in which the app asks.
  func accept(_ request: URLRequest, in trace: TraceContext?) -> URLProtocol.Type? {
    if clients.isEmpty {
      warn()
      return nil
    }
    let url = request.urlText
    let isRecorded = clients.contains { records(request, to: url, for: $0) }
    let isOurs = url.hasPrefix("http:") || url.hasPrefix("https:")
    if isRecorded, isOurs, let loader = loader(for: request) { return loader }
    let other = (loaders + Self.native).first { $0.canInit(with: request) }
    // An excluded request, or a WebSocket, may use a connection of libcurl that others wait for.
    if Self.native.contains(where: { $0 == other }) { hasExcluded.store(true, ordering: .relaxed) }
    if isRecorded, other == nil, isRefused(request) { recordRefusal(of: request, in: trace) }
    return nil
  }

  /// Once: otherwise an app that did not keep its tap would wonder where its metrics are.
  private func warn() {
    guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
    StandardError.write(
      line:
        "session-tap: warning: requests of a session whose tap has ended are not recorded (keep the tap, and shut it down last)"
    )
  }

  /// Whether a tap records a request, which is described only for a filter.
  private func records(_ request: URLRequest, to url: String, for client: Client) -> Bool {
    guard let filter = client.tap.recorder.outboundFilter else { return true }
    return filter(describe(request, to: url, for: client, trace: request.ownTrace, hasHeaders: true))
  }

  /// A request as a tap records it.
  struct Request: Sendable {
    let record: RequestRecord
    let tap: URLSessionTap
  }

  /// A request as each of its taps records it. Of one tap, as mostly, it takes no array.
  struct Requests: Sendable {
    private(set) var first: Request?
    private var others: [Request] = []

    mutating func append(_ request: Request) {
      if first == nil { first = request } else { others.append(request) }
    }

    @inline(__always)
    func forEach(_ body: (Request) -> Void) {
      if let first { body(first) }
      others.forEach(body)
    }

    /// Whether a record has not ended.
    var areActive: Bool {
      first?.record.isActive == true || others.contains(where: \.record.isActive)
    }
  }

  /// The request as each of its taps records it.
  ///
  /// - Parameter parent: The trace in which the app makes it. The request's own takes precedence, but not as
  ///   to the served request.
  func observe(
    _ request: URLRequest, to url: String, in parent: TraceContext?,
    progress: (any RequestProgressSource)? = nil
  ) -> Requests {
    let own = request.ownTrace
    var trace = own.map { $0.within(parent?.served ?? $0.served) } ?? parent.map { TraceContext.next(in: $0) }
    var requests = Requests()
    for client in clients(of: trace?.served) {
      let tap = client.tap
      // With one tap, `accept` has asked the filter.
      if tap.isStopped || clients.count > 1 && !records(request, to: url, for: client) { continue }
      let hasHeaders = tap.configuration.collectsHeaders
      let record = RequestRecord(
        describe(request, to: url, for: client, trace: trace, hasHeaders: hasHeaders),
        recorder: tap.recorder, progress: progress)
      requests.append(Request(record: record, tap: tap))
      // It is one call of the served request, whatever the number of taps.
      trace = trace?.within(nil)
    }
    return requests
  }

  /// First the tap that records a served request: its call has the client name of that tap.
  private func clients(of served: RequestRecord?) -> [Client] {
    guard let served, clients.count > 1 else { return clients }
    let isServing = { (client: Client) in client.tap.recorder === served.recorder }
    return clients.filter(isServing) + clients.filter { !isServing($0) }
  }

  /// Describes a request as the app made it. A template of its own takes precedence over the tap's.
  private func describe(
    _ request: URLRequest, to url: String, for client: Client, trace: TraceContext?, hasHeaders: Bool
  ) -> RequestDescription {
    let contextual = request.contextual
    return RequestDescription(
      madeBy: client.name, method: request.method, url: url, urlTemplate: contextual?.context?.urlTemplate,
      traceContext: trace, fields: contextual?.context?.fields ?? [:],
      headers: hasHeaders ? request.allHTTPHeaderFields ?? [:] : [:], recorder: client.tap.recorder)
  }

  // MARK: The loaders

  /// The class that would load this http or https request if ours were not there, or `nil` if there is none.
  ///
  /// Without a class of the configuration's own that takes the request, Foundation falls back to the
  /// registered classes, which are not readable; the native loaders of `URLSessionConfiguration.default`
  /// stand for them.
  func loader(for request: URLRequest) -> URLProtocol.Type? {
    nativeFirst ?? (loaders + Self.native).first { $0.canInit(with: request) }
  }

  /// The loaders that Foundation itself installs. Reachable through public API on Linux only.
  private static let native: [URLProtocol.Type] =
    (URLSessionConfiguration.default.protocolClasses ?? []).compactMap { $0 as? URLProtocol.Type }

  /// The one of them for http and https.
  static let nativeHTTP = URL(string: "http://localhost/").flatMap { url in
    native.first { $0.canInit(with: URLRequest(url: url)) }
  }

  /// Whether Foundation refuses a request that no class loads: it has no scheme, or one in capitals that the
  /// native loader does not know.
  private func isRefused(_ request: URLRequest) -> Bool {
    ["", "http", "https"].contains(request.url?.scheme?.lowercased() ?? "")
  }

  /// Foundation itself fails a task that no loader takes, and calls no loader: `canInit` is the only sign of
  /// it.
  private func recordRefusal(of request: URLRequest, in trace: TraceContext?) {
    let now = Instant.now
    observe(request, to: request.urlText, in: trace).forEach { refused in
      refused.record.begin(at: now)
      refused.record.end(.failure(.unsupportedURL, statusCode: nil), at: now)
    }
  }
}

extension URLRequest {
  /// Empty without a URL.
  var urlText: String { url?.absoluteString ?? "" }

  var method: String { httpMethod ?? "GET" }

  /// The trace that the app gave the request: that of its header, or of its context.
  fileprivate var ownTrace: TraceContext? {
    let given = contextual?.context?.traceContext
    // Case-insensitive (RFC 9110, section 5.1), without a lowercase copy of each name, which Foundation's own
    // search makes.
    let traceparent = allHTTPHeaderFields?.first {
      $0.key.utf8.count == 11 && $0.key.lowercased() == "traceparent"
    }
    let sent = traceparent.flatMap { TraceContext(traceparent: $0.value) }
    // The context's trace has the span, which a header cannot have.
    return sent == nil || sent == given ? given : sent
  }
}
