import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request under observation, from its first start to its one end.
///
/// Calls come from Foundation's queue, from the thread that resumes or cancels, from the queue of a delegate
/// and from the watch on a challenged task; the state machine under the lock decides which of them ends the
/// request. What observers are told is made when they are told, away from the path of the request.
final class TappedRequest: Sendable {
  /// A class, since the state is copied with it.
  private final class End: Sendable {
    let end: RequestEnd
    let instant: Instant
    let report: TransferReport

    init(_ end: RequestEnd, report: TransferReport, at instant: Instant) {
      self.end = end
      self.instant = instant
      self.report = report
    }
  }

  private struct State {
    var lifecycle = RequestLifecycle<RequestStart, End>()
    /// Whether the request is in the queue: when its turn comes, all is told that there is by then. Where nobody is to be
    /// told it never comes.
    var isQueued = true
    var isStartTold = false
    /// For how long the request has waited, until that is told.
    var wait: Duration?

    /// There is something to tell. Whether the request has to be put into the queue for that.
    mutating func announce() -> Bool {
      defer { isQueued = true }
      return !isQueued
    }

    /// Its turn has come: what is not told yet, with what that needs.
    mutating func takeNews() -> State {
      let news = self
      (isQueued, isStartTold, wait) = (false, lifecycle.start != nil, nil)
      return news
    }

    /// Ends the request in this way, unless it has ended or never started. Whether it has to be put into the queue.
    mutating func end(_ end: RequestEnd, report: TransferReport, at instant: Instant) -> Bool {
      lifecycle.end(End(end, report: report, at: instant)) && announce()
    }
  }

  private let outline: RequestOutline
  private let client: TapClient
  /// Who hears of the request, whoever observes the tap by its end.
  private let observers: [any RequestObserver]
  private let state: Mutex<State>

  /// Made on the thread that resumes the task, where that is possible: there the context of the current Swift
  /// task can be seen. Noted for its observers already: the start soon follows, on a queue of Foundation's that all
  /// requests share.
  init(_ outline: RequestOutline, client: TapClient) {
    self.outline = outline
    self.client = client
    observers = client.tap.observers
    state = Mutex(State())
    client.tap.requestCount.add(1, ordering: .relaxed)
    if !observers.isEmpty { client.tap.events.add(self) }
  }

  /// Goes on for a request that goes away: the queue cannot hold an object that is being freed.
  private init(heirOf other: TappedRequest) {
    outline = other.outline
    client = other.client
    observers = other.observers
    state = Mutex(other.state.withLock { $0 })
    client.tap.requestCount.add(1, ordering: .relaxed)
  }

  /// A request whose task goes away without a word was abandoned. The last defence of "ends once".
  deinit {
    if isLoading { TappedRequest(heirOf: self).end(.cancelled) }
    client.tap.requestCount.subtract(1, ordering: .relaxed)
  }

  /// Whether the request started and has not ended.
  var isLoading: Bool { state.withLock { $0.lifecycle.isLoading } }

  /// After how long a request is reported that nobody answers for.
  var waitingLimit: Duration? { client.tap.configuration.waitingLimit }

  /// The loader starts.
  func start(_ start: RequestStart = RequestStart()) {
    announce { $0.lifecycle.start(start) && $0.announce() }
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd, report: TransferReport = TransferReport(), at instant: Instant = .now) {
    announce { $0.end(end, report: report, at: instant) }
  }

  /// The task ended beyond our sight, served by a loader that is not ours.
  func ended(_ task: URLSessionTask) {
    if let error = task.error { return end(RequestEnd(error, statusCode: nil)) }
    let response = task.response as? HTTPURLResponse
    var report = TransferReport()
    report.requestBodySize = BodySizes.sent(by: task, method: outline.method, account: nil)
    report.responseBodySize = BodySizes.received(method: outline.method, response: response, loadedBytes: nil)
    if outline.keepsHeaders { report.responseHeaders = response?.headers ?? [:] }
    end(.response(statusCode: response?.statusCode), report: report)
  }

  /// The request has waited for so long that it may never end.
  func waits(for duration: Duration) {
    announce { state in
      guard state.lifecycle.isLoading else { return false }
      state.wait = duration
      return state.announce()
    }
  }

  /// - Parameter transition: Says whether the request has to be put into the queue.
  private func announce(_ transition: (inout State) -> Bool) {
    if state.withLock({ transition(&$0) }) { client.tap.events.add(self) }
  }
}

extension TappedRequest {
  /// Tells the observers what they have not been told of. Of each request the end is the last.
  static func tell(_ requests: [TappedRequest]) {
    var news: [RequestNews] = []
    news.reserveCapacity(requests.count)
    for request in requests { request.takeNews().map { news.append($0) } }
    // Requests of one tap have the same observers, but for those that nobody hears of.
    let count = news.reduce(0) { max($0, $1.observers.count) }
    for observer in 0..<count {
      for request in news { request.tell(observer) }
    }
  }

  private func takeNews() -> RequestNews? {
    // A copy, so that no lock is held while observers do their work.
    let news = state.withLock { $0.takeNews() }
    guard let start = news.lifecycle.start else { return nil }
    // Made anew where the start was told of before. That takes less than to hold it for every request.
    let keepsHeaders = client.tap.configuration.collectsHeaders
    let request = outline.description(
      client: client.name, templates: client.tap.configuration.pathTemplates, keepsHeaders: keepsHeaders)
    let end = news.lifecycle.end
    return RequestNews(
      observers: observers, isStart: !news.isStartTold, wait: news.wait, isEnd: end != nil,
      observation: RequestObservation(
        of: request, start: start, end: end?.end ?? .cancelled, at: end?.instant ?? start.instant,
        report: end?.report ?? TransferReport(), keepsHeaders: keepsHeaders))
  }
}
