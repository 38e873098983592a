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
  private struct End {
    let end: RequestEnd
    let instant: Instant
  }

  private struct State {
    var lifecycle = RequestLifecycle<RequestStart, End>()
    var facts = TransferFacts()
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
    mutating func end(_ end: RequestEnd, at instant: Instant = .now) -> Bool {
      lifecycle.end(End(end: end, instant: instant)) && announce()
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
  init(request: URLRequest, client: TapClient) {
    outline = RequestOutline(
      request, taskContext: RequestContext.current, keepsHeaders: client.tap.configuration.collectsHeaders)
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

  /// The loader starts, for the first time or again.
  func start() {
    announce { $0.lifecycle.start(RequestStart()) && $0.announce() }
  }

  /// A response head passed.
  func received(_ response: URLResponse) {
    let now = Instant.now
    state.withLock { $0.facts.take(response, at: now) }
  }

  /// A piece of the body passed.
  func received(bytes count: Int) {
    state.withLock { $0.facts.load(count) }
  }

  /// The loader answers from the cache.
  func receivedFromCache() {
    state.withLock { $0.facts.isFromCache = true }
  }

  /// The loader is done. Ends the request, unless its end or its sizes are yet to be learned elsewhere.
  ///
  /// - Parameter isChallenged: Whether the response asks for credentials. Once the original client knows of the finish,
  ///   the task is Foundation's alone.
  func finished(
    _ task: URLSessionTask?, loader: URLProtocol, response: URLResponse?, isChallenged: Bool
  ) {
    guard let task else { return announce { succeed(&$0) } }
    let reading = TaskReading(task, response: response, method: outline.method, wasResent: false)
    let resendCount = ResendCount.read(from: loader, url: outline.url, response: response)
    let (isCounted, isNews) = state.withLock { state in
      state.facts.finish(reading, resendCount: resendCount, isChallenged: isChallenged)
      let isCounted = state.facts.loadedBytes != nil
      return (isCounted, isCounted && !isChallenged && succeed(&state))
    }
    if isNews { client.tap.events.add(self) }
    if !isCounted, !isAwaited(task), !isChallenged { announce { succeed(&$0) } }
  }

  /// Whether the task is served to a delegate of ours, whose last callback comes after all bytes and all legs. It
  /// ends the request then.
  ///
  /// Not for a download: one with a completion handler completes without a word to the delegate, and looks like one
  /// without. Foundation counts what it has received.
  private func isAwaited(_ task: URLSessionTask) -> Bool {
    #if canImport(FoundationNetworking)
      guard !(task is URLSessionDownloadTask), let delegate = task.delegate as? ForwardingTaskDelegate else {
        return false
      }
      delegate.awaitCompletion(of: task, request: self)
      return true
    #else
      return false
    #endif
  }

  /// The delegate heard the last of the task.
  ///
  /// - Parameters:
  ///   - bytes: What it got of the last leg's body, where it is told.
  ///   - head: When it got the head of the last leg.
  func completed(
    _ task: URLSessionTask, deliveredBytes bytes: Int64?, head: Instant?, error: (any Error)?
  ) {
    if let error { return failed(error) }
    let isSecondLeg = state.withLock { $0.facts.isChallenged }
    // The loader of a second leg was none of ours.
    let reading =
      isSecondLeg ? TaskReading(task, response: task.response, method: outline.method, wasResent: true) : nil
    announce { state in
      if let reading { state.facts.finish(reading, resendCount: nil, isChallenged: true) }
      state.facts.deliver(bytes, head: isSecondLeg ? head : nil)
      return succeed(&state)
    }
  }

  /// The task ended beyond our sight.
  func ended(_ task: URLSessionTask) {
    if let error = task.error { return failed(error) }
    let reading = TaskReading(task, response: task.response, method: outline.method, wasResent: true)
    announce { state in
      state.facts.finish(reading, resendCount: nil, isChallenged: true)
      return succeed(&state)
    }
  }

  /// The loader failed.
  func failed(_ error: any Error) {
    announce { state in
      state.facts.fail()
      return state.end(RequestEnd(error, statusCode: state.facts.statusCode))
    }
  }

  /// The request has waited for so long that it may never end.
  func waits(for duration: Duration) {
    announce { state in
      guard state.lifecycle.isLoading else { return false }
      state.wait = duration
      return state.announce()
    }
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd) {
    announce { $0.end(end) }
  }

  /// Ends the request with its response, at the moment when its loader was done. Whether it has to be put into the queue.
  private func succeed(_ state: inout State) -> Bool {
    guard state.lifecycle.isLoading else { return false }
    state.facts.close(outline)
    return state.end(.response(statusCode: state.facts.statusCode), at: state.facts.finishInstant ?? .now)
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
    let request = outline.description(
      client: client.name, templates: client.tap.configuration.pathTemplates)
    let end = news.lifecycle.end
    return RequestNews(
      observers: observers, isStart: !news.isStartTold, wait: news.wait, isEnd: end != nil,
      observation: RequestObservation(
        of: request, start: start, end: end?.end ?? .cancelled, at: end?.instant ?? start.instant,
        facts: news.facts))
  }
}
