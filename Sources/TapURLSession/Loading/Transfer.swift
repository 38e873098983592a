import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the tap knows of a request: the request as the app made it, what is noted while the transfer passes, and what is known at
/// its end. Descriptions and reports are made of it off the path of the request.
///
/// The `URLRequest` itself, with its body, is not kept: a request waits for up to a tenth of a second after its end.
final class Transfer: Sendable {
  private struct State {
    var start: Instant?
    /// When the head of the last response arrived, where a delegate is told.
    var head: Instant?
    var statusCode: Int?
    /// The bytes of the body that came by, or `nil` if none did: a native loader gives a delegate its bytes directly.
    var loadedBytes: Int64?
    /// The loader answers from the session's cache.
    var isFromCache = false
    /// The loader was started again, after a suspension.
    var isRestarted = false
    /// Where the transfer is counted.
    var count: TransferCount?
    /// The loader has reported its end, or the task was cancelled.
    var hasEnded = false
    /// The server asked for credentials: another loader may serve the rest.
    var isWatched = false
    var result: TransferResult?
  }

  private let url: String
  /// Where the request goes at first. `nil` if its URL names no host.
  private let host: String?
  private let port: Int
  let isSecure: Bool
  let method: String
  /// Of the request, or of the Swift task that made it.
  private let context: TapRequestContext?
  private let headers: [String: String]
  /// Whether any tap shows headers.
  let keepsHeaders: Bool
  private let state = Mutex(State())

  /// - Parameters:
  ///   - taskContext: The context of the Swift task that makes the request. The request's own takes precedence.
  ///   - keepsHeaders: Whether any tap shows headers, of the response too.
  init(_ request: URLRequest, taskContext: TapRequestContext?, keepsHeaders: Bool) {
    let location = request.url
    url = location?.absoluteString ?? ""
    let authority = URLAuthority(plain: url)
    isSecure = url.hasPrefix("https:")
    port = authority?.port ?? location?.port ?? (location?.scheme == "https" ? 443 : 80)
    host = authority?.host ?? location?.host
    method = request.httpMethod ?? "GET"
    context = request.tapContext ?? taskContext
    headers = request.allHTTPHeaderFields ?? [:]
    self.keepsHeaders = keepsHeaders
  }

  // MARK: While it passes

  /// The loader starts. `false` if it had started before: Foundation starts a loader again after a suspension.
  func start(at instant: Instant) -> Bool {
    state.withLock { state in
      state.isRestarted = state.start != nil
      state.start = state.start ?? instant
      return !state.isRestarted
    }
  }

  /// Takes a response. An interim one (RFC 9110, section 15.2) is not the answer. `false` after the end.
  func received(_ response: URLResponse, at instant: Instant) -> Bool {
    let status = (response as? HTTPURLResponse)?.statusCode
    return note { state in
      if let status, (100..<200).contains(status) { return }
      state.statusCode = status
      state.head = instant
    }
  }

  /// Adds a piece of the body. `false` after the end.
  func loaded(_ count: Int) -> Bool {
    note { $0.loadedBytes = ($0.loadedBytes ?? 0) + Int64(count) }
  }

  /// The loader answers from the session's cache. `false` after the end.
  func answeredFromCache() -> Bool { note { $0.isFromCache = true } }

  private func note(_ change: (inout State) -> Void) -> Bool {
    state.withLock { state in
      if !state.hasEnded { change(&state) }
      return !state.hasEnded
    }
  }

  // MARK: Among the transfers of its configuration

  /// The transfer is counted until it leaves.
  func enter(_ count: TransferCount, limit: Int, at now: Instant) {
    count.enter(limit: limit, at: now)
    state.withLock { $0.count = count }
  }

  /// The transfer needs no connection any more. Leaving again does nothing.
  func leave(at now: Instant) {
    let count = state.withLock { $0.count.take() }
    count?.leave(at: now)
  }

  // MARK: Its end

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Whether the task is watched, since its end is not seen here.
  var isWatched: Bool { state.withLock { $0.isWatched } }

  /// The task is watched from now on.
  func watched() { state.withLock { $0.isWatched = true } }

  var isFromCache: Bool { state.withLock { $0.isFromCache } }

  /// What is known of the end beside libcurl's account.
  func facts(at now: Instant, _ end: TransferFacts.End, isHeldByApp: Bool) -> TransferFacts {
    state.withLock { state in
      var facts = TransferFacts()
      facts.end = end
      facts.isSecure = isSecure
      facts.isRestarted = state.isRestarted
      facts.isHeldByApp = isHeldByApp
      guard let start = state.start else { return facts }
      facts.elapsed = now.nanoseconds &- start.nanoseconds
      facts.hasHadRoom = state.count?.hasHadRoom(since: start) ?? false
      return facts
    }
  }

  /// The status code of the last response that was noted.
  var statusCode: Int? { state.withLock { $0.statusCode } }

  /// The bytes of the body that were noted.
  var loadedBytes: Int64? { state.withLock { $0.loadedBytes } }

  /// Whether one of the sides wants the connection closed after the response (RFC 9112, section 9.6).
  func closesConnection(after response: HTTPURLResponse?) -> Bool {
    let asked = headers.first { $0.key.lowercased() == "connection" }?.value
    return [asked, response?.value(forHTTPHeaderField: "Connection")]
      .contains { $0?.lowercased().contains("close") == true }
  }

  /// Ends the transfer. `false` if it has ended before.
  func end() -> Bool {
    state.withLock { state in
      defer { state.hasEnded = true }
      return !state.hasEnded
    }
  }

  /// Keeps what is known at the end. The first result counts.
  func settle(_ result: TransferResult) {
    state.withLock { $0.result = $0.result ?? result }
  }

  /// What is known of the transfer, once it has ended.
  fileprivate func report() -> TransferReport? {
    let state = state.withLock { $0 }
    let head = state.start.flatMap { start in
      state.head.map { max(0, $0.nanoseconds &- start.nanoseconds) }
    }
    switch state.result {
    case nil: return nil
    case .report(var report):
      report.firstByte = head
      return report
    case .account(let account, let end):
      return TransferReport(account, end, head: head)
    case .headers(let requestBodySize, let responseBodySize, let headers):
      var report = TransferReport()
      report.requestBodySize = requestBodySize
      report.responseBodySize = responseBodySize
      // After an answered challenge it is the head of the 401.
      report.firstByte = state.isWatched ? nil : head
      report.isFromCache = state.isFromCache
      report.responseHeaders = headers
      return report
    }
  }

  // MARK: Its description

  /// Describes the request as the app made it. A template of its own takes precedence over the tap's.
  fileprivate func description(for client: TapClient) -> RequestDescription {
    let configuration = client.tap.configuration
    let traceparent = headers.first { Self.isTraceparent($0.key) }?.value
    return RequestDescription(
      client: client.name,
      method: method,
      url: url,
      serverAddress: host,
      serverPort: port,
      urlTemplate: context?.urlTemplate ?? configuration.pathTemplates.template(forURL: url),
      traceContext: traceparent.flatMap(TraceContext.init(traceparent:)) ?? context?.traceContext,
      fields: context?.fields ?? [:],
      headers: configuration.collectsHeaders ? headers : [:])
  }

  /// In any case (RFC 9110, section 5.1), and without a copy in lowercase of each name, as Foundation's own search makes.
  private static func isTraceparent(_ name: String) -> Bool {
    let traceparent: StaticString = "traceparent"
    var name = name
    return name.withUTF8 { bytes in
      bytes.count == traceparent.utf8CodeUnitCount
        && bytes.indices.allSatisfy { bytes[$0] | 0x20 == traceparent.utf8Start[$0] }
    }
  }
}

/// A transfer as one of its taps records it.
struct TappedTransfer: RequestSource {
  let transfer: Transfer
  let client: TapClient

  func makeDescription() -> RequestDescription { transfer.description(for: client) }

  func complete(_ observation: inout RequestObservation, start: Instant) {
    guard let report = transfer.report() else { return }
    observation.requestBodySize = report.requestBodySize
    observation.responseBodySize = report.responseBodySize
    observation.elapsedToFirstByte = report.firstByte
    observation.timings = report.timings
    observation.protocolVersion = report.protocolVersion
    observation.peerAddress = report.peerAddress
    observation.openedConnections = report.openedConnections
    observation.isConnectionReused = report.isConnectionReused
    observation.roundTrip = report.roundTrip.map { $0 * 1_000 }
    observation.retransmittedSegments = report.retransmittedSegments
    observation.resendCount = report.resendCount
    observation.isFromCache = report.isFromCache
    if client.tap.configuration.collectsHeaders { observation.responseHeaders = report.responseHeaders }
  }
}
