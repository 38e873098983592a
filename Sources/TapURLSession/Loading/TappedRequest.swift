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
  }

  private let request: URLRequest
  private let context: TapContext
  private let taskContext: RequestContext?
  private let state: Mutex<State>
  private let known = Mutex<RequestDescription?>(nil)

  /// Made on the thread that resumes the task, where that is possible: there the context of the current Swift
  /// task can be seen.
  init(request: URLRequest, context: TapContext) {
    self.request = request
    self.context = context
    taskContext = RequestContext.current
    state = Mutex(State())
    context.tap.requestCount.add(1, ordering: .relaxed)
  }

  /// Goes on for a request that goes away: an event cannot hold an object that is being freed.
  private init(heirOf other: TappedRequest) {
    request = other.request
    context = other.context
    taskContext = other.taskContext
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
    if !observers.isEmpty { context.tap.events.add(.started(self)) }
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
  func finished(loader: URLProtocol) {
    guard let task = loader.task else { return succeeded() }
    let response = task.response
    let reading = TaskReading(task, response: response, request: request, wasResent: false)
    let resendCount = ResendCount.read(from: loader, request: request, response: response)
    let (isCounted, isChallenged) = state.withLock { state in
      state.facts.finish(reading, resendCount: resendCount)
      return (state.facts.loadedBytes != nil, state.facts.isChallenged)
    }
    #if canImport(FoundationNetworking)
      if !isCounted, let delegate = task.delegate as? ForwardingTaskDelegate {
        // Served to the delegate, whose last callback comes after all bytes and all legs.
        delegate.awaitCompletion(of: task, request: self)
        return
      }
    #endif
    if !isChallenged { succeeded() }
  }

  /// The original client heard of the finish: from here on a challenged task is Foundation's alone.
  func handedOn(task: URLSessionTask?) {
    guard let task, state.withLock({ $0.facts.isChallenged && $0.lifecycle.isLoading }) else { return }
    ChallengedTaskWatch.begin(task: task, request: self)
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
      isSecondLeg ? TaskReading(task, response: task.response, request: request, wasResent: true) : nil
    state.withLock { state in
      if let reading { state.facts.finish(reading, resendCount: nil) }
      state.facts.deliver(bytes, head: isSecondLeg ? head : nil)
    }
    succeeded()
  }

  /// The task ended beyond our sight.
  func ended(_ task: URLSessionTask) {
    if let error = task.error { return failed(error) }
    let reading = TaskReading(task, response: task.response, request: request, wasResent: true)
    state.withLock { $0.facts.finish(reading, resendCount: nil) }
    succeeded()
  }

  /// The loader failed.
  func failed(_ error: any Error) {
    end { facts in
      facts.fail()
      return End(end: RequestEnd(error, statusCode: facts.response?.statusCode), instant: .now())
    }
  }

  /// The request has waited for so long that it may never end.
  func waits(for duration: Duration) {
    if isLoading { context.tap.events.add(.waits(self, duration)) }
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd) {
    self.end { _ in End(end: end, instant: .now()) }
  }

  /// Ends the request with its response, at the moment when its loader was done.
  private func succeeded() {
    end { facts in
      End(end: .response(statusCode: facts.response?.statusCode), instant: facts.finishInstant ?? .now())
    }
  }

  private func end(_ make: (inout TransferFacts) -> End) {
    let isHeard = state.withLock { state in
      state.lifecycle.end(make(&state.facts)) && state.lifecycle.start?.observers.isEmpty == false
    }
    if isHeard { context.tap.events.add(.ended(self)) }
  }
}

extension TappedRequest {
  /// Who hears of the request.
  var observers: [any RequestObserver] { state.withLock { $0.lifecycle.start?.observers ?? [] } }

  /// What observers are told of the request.
  var description: RequestDescription {
    known.withLock { known in
      if let known { return known }
      let configuration = context.tap.configuration
      var made = RequestDescription(
        request, client: context.client, templates: configuration.pathTemplates, taskContext: taskContext)
      if configuration.collectsHeaders { made.headers = request.allHTTPHeaderFields ?? [:] }
      known = made
      return made
    }
  }

  /// What observers are told of the end, once there was one. Sizes are those of a whole transfer only.
  var observation: RequestObservation? {
    let state = state.withLock { $0 }
    guard let start = state.lifecycle.start, let ended = state.lifecycle.end else { return nil }
    var observation = RequestObservation(
      request: description, start: start.timestamp, duration: start.duration(to: ended.instant),
      end: ended.end)
    if case .response = ended.end {
      let facts = state.facts
      observation.requestBodySize = facts.requestBodySize
      observation.responseBodySize = facts.responseBodySize(method: observation.request.method)
      observation.timeToFirstByte = facts.headInstant.map(start.duration(to:))
      observation.resendCount = facts.resendCount
      observation.isFromCache = facts.isFromCache
      if context.tap.configuration.collectsHeaders {
        observation.responseHeaders = facts.response?.headers ?? [:]
      }
    }
    return observation
  }
}
