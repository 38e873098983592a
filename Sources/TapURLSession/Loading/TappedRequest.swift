import Dispatch
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
    let instant: DispatchTime
  }

  private struct State {
    var lifecycle = RequestLifecycle<RequestStart, End>()
    var facts = TransferFacts()
    /// What observers have been told of and will be again.
    var description: RequestDescription?

    /// Ends the request in this way, unless it has ended or never started. Whether observers are to hear of it.
    mutating func end(_ end: RequestEnd, at instant: DispatchTime = .now()) -> Bool {
      lifecycle.end(End(end: end, instant: instant)) && lifecycle.start?.observers.isEmpty == false
    }
  }

  private let outline: RequestOutline
  private let context: TapContext
  private let state: Mutex<State>

  /// Made on the thread that resumes the task, where that is possible: there the context of the current Swift
  /// task can be seen.
  init(request: URLRequest, context: TapContext) {
    outline = RequestOutline(
      request, taskContext: RequestContext.current, keepsHeaders: context.tap.configuration.collectsHeaders)
    self.context = context
    state = Mutex(State())
    context.tap.requestCount.add(1, ordering: .relaxed)
  }

  /// Goes on for a request that goes away: an event cannot hold an object that is being freed.
  private init(heirOf other: TappedRequest) {
    outline = other.outline
    context = other.context
    state = Mutex(other.state.withLock { $0 })
    context.tap.requestCount.add(1, ordering: .relaxed)
  }

  /// A request whose task goes away without a word was abandoned. The last defence of "ends once".
  deinit {
    if isLoading { TappedRequest(heirOf: self).end(.cancelled) }
    context.tap.requestCount.subtract(1, ordering: .relaxed)
  }

  /// Whether the request started and has not ended.
  var isLoading: Bool { state.withLock { $0.lifecycle.isLoading } }

  /// Whether the loader has told of its end, and Foundation puts no other in its place.
  var isLoaderDone: Bool { state.withLock { $0.facts.isLoaderDone } }

  /// After how long a request is reported that nobody answers for.
  var waitingLimit: Duration? { context.tap.configuration.waitingLimit }

  /// The loader starts, for the first time or again.
  func start() {
    let observers = context.tap.observers
    guard state.withLock({ $0.lifecycle.start(RequestStart(observers: observers)) }) else { return }
    if !observers.isEmpty { context.tap.events.add(.start, of: self) }
  }

  /// A response head passed.
  func received(_ response: URLResponse) {
    let now = DispatchTime.now()
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
  /// - Returns: The task, if it is challenged: once the original client has heard of the finish, it is Foundation's
  ///   alone.
  func finished(loader: URLProtocol) -> URLSessionTask? {
    guard let task = loader.task else {
      end { succeed(&$0) }
      return nil
    }
    let response = task.response
    let reading = TaskReading(task, response: response, method: outline.method, wasResent: false)
    let resendCount = ResendCount.read(from: loader, url: outline.url, response: response)
    let (isCounted, isChallenged, isHeard) = state.withLock { state in
      state.facts.finish(reading, resendCount: resendCount)
      let (isCounted, isChallenged) = (state.facts.loadedBytes != nil, state.facts.isChallenged)
      return (isCounted, isChallenged, isCounted && !isChallenged && succeed(&state))
    }
    if isHeard { context.tap.events.add(.end, of: self) }
    if !isCounted, !isAwaited(task), !isChallenged { end { succeed(&$0) } }
    return isChallenged ? task : nil
  }

  /// Whether the task is served to a delegate of ours, whose last callback comes after all bytes and all legs. It
  /// ends the request then.
  private func isAwaited(_ task: URLSessionTask) -> Bool {
    #if canImport(FoundationNetworking)
      guard let delegate = task.delegate as? ForwardingTaskDelegate else { return false }
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
    _ task: URLSessionTask, deliveredBytes bytes: Int64?, head: DispatchTime?, error: (any Error)?
  ) {
    if let error { return failed(error) }
    let isSecondLeg = state.withLock { $0.facts.isChallenged }
    // The loader of a second leg was none of ours.
    let reading =
      isSecondLeg ? TaskReading(task, response: task.response, method: outline.method, wasResent: true) : nil
    end { state in
      if let reading { state.facts.finish(reading, resendCount: nil) }
      state.facts.deliver(bytes, head: isSecondLeg ? head : nil)
      return succeed(&state)
    }
  }

  /// The task ended beyond our sight.
  func ended(_ task: URLSessionTask) {
    if let error = task.error { return failed(error) }
    let reading = TaskReading(task, response: task.response, method: outline.method, wasResent: true)
    end { state in
      state.facts.finish(reading, resendCount: nil)
      return succeed(&state)
    }
  }

  /// The loader failed.
  func failed(_ error: any Error) {
    end { state in
      state.facts.fail()
      return state.end(RequestEnd(error, statusCode: state.facts.statusCode))
    }
  }

  /// The request has waited for so long that it may never end.
  func waits(for duration: Duration) {
    if isLoading { context.tap.events.add(.waits(duration), of: self) }
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd) {
    self.end { $0.end(end) }
  }

  /// Ends the request with its response, at the moment when its loader was done. Whether observers are to hear of it.
  private func succeed(_ state: inout State) -> Bool {
    guard state.lifecycle.isLoading else { return false }
    state.facts.close(outline)
    return state.end(.response(statusCode: state.facts.statusCode), at: state.facts.finishInstant ?? .now())
  }

  /// - Parameter transition: Says whether observers are to hear of the end.
  private func end(_ transition: (inout State) -> Bool) {
    if state.withLock({ transition(&$0) }) { context.tap.events.add(.end, of: self) }
  }
}

extension TappedRequest {
  /// The end is the last that observers hear.
  func tell(_ event: ObserverQueue.Event) {
    // Taken out, for the end is the last that needs it.
    let (kept, observers) = state.withLock { ($0.description.take(), $0.lifecycle.start?.observers ?? []) }
    let description =
      kept ?? outline.description(client: context.client, templates: context.tap.configuration.pathTemplates)
    switch event {
    case .start:
      for observer in observers { observer.requestStarted(description) }
      state.withLock { $0.description = description }
    case .waits(let duration):
      for observer in observers { observer.requestWaits(description, for: duration) }
      state.withLock { $0.description = description }
    case .end:
      guard let observation = state.withLock({ makeObservation(of: description, $0) }) else { return }
      for observer in observers { observer.requestEnded(observation) }
    }
  }

  /// What observers are told of the end, once there was one. Sizes are those of a whole transfer only.
  private func makeObservation(
    of description: consuming RequestDescription, _ state: borrowing State
  ) -> RequestObservation? {
    guard let start = state.lifecycle.start, let ended = state.lifecycle.end else { return nil }
    let elapsed = start.elapsed(to: ended.instant)
    guard case .response = ended.end else {
      return RequestObservation(
        request: description, start: start.timestamp, elapsed: elapsed, end: ended.end)
    }
    return RequestObservation(
      request: description, start: start.timestamp, elapsed: elapsed, end: ended.end,
      requestBodySize: state.facts.requestBodySize, responseBodySize: state.facts.responseBodySize,
      elapsedToFirstByte: state.facts.headInstant.map(start.elapsed(to:)),
      resendCount: state.facts.resendCount,
      isFromCache: state.facts.isFromCache, responseHeaders: state.facts.responseHeaders)
  }
}
