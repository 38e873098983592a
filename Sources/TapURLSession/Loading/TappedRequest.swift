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
/// request.
final class TappedRequest: Sendable {
  private struct State {
    var lifecycle = RequestLifecycle<StartedRequest>()
    var facts = TransferFacts()
  }

  private let request: URLRequest
  private let context: TapContext
  private let taskContext: RequestContext?
  private let state = Mutex(State())

  /// Made on the thread that resumes the task, where that is possible: there the context of the current Swift
  /// task can be seen.
  init(request: URLRequest, context: TapContext) {
    self.request = request
    self.context = context
    taskContext = RequestContext.current
    context.tap.requestCount.add(1, ordering: .relaxed)
  }

  /// A request whose task goes away without a word was abandoned. The last defence of "ends once".
  deinit {
    end(.cancelled)
    context.tap.requestCount.subtract(1, ordering: .relaxed)
  }

  /// Whether the request started and has not ended.
  var isLoading: Bool { state.withLock { $0.lifecycle.isLoading } }

  /// After how long a request is reported that nobody answers for.
  var waitingLimit: Duration? { context.tap.configuration.waitingLimit }

  /// The loader starts, for the first time or again.
  func start() {
    guard !state.withLock({ $0.lifecycle.hasStarted }) else { return }
    let started = StartedRequest(
      request, context: context, taskContext: taskContext, observers: context.tap.observers)
    guard state.withLock({ $0.lifecycle.start(started) }) else { return }
    if !started.observers.isEmpty { context.tap.events.add(.started(started)) }
  }

  /// A response head passed.
  func received(_ response: URLResponse) {
    let now = ContinuousClock.now
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
    let facts = state.withLock { $0.facts }
    let task = loader.task
    let response = task?.response ?? facts.response
    let ending = TransferEnding(
      request: request, response: response, task: task, facts: facts,
      resendCount: ResendCount.read(from: loader, request: request, response: response))
    let isChallenged = ending.response?.asksForCredentials ?? false
    if isChallenged { state.withLock { $0.facts.isChallenged = true } }
    #if canImport(FoundationNetworking)
      if let task, let delegate = task.delegate as? ForwardingTaskDelegate, facts.loadedBytes == nil {
        // Served to the delegate, whose last callback comes after all bytes and all legs.
        delegate.awaitCompletion(of: task, request: self, ending: isChallenged ? nil : ending)
        return
      }
    #endif
    if !isChallenged { end(ending) }
  }

  /// The original client heard of the finish: from here on a challenged task is Foundation's alone.
  func handedOn(task: URLSessionTask?) {
    guard let task, state.withLock({ $0.facts.isChallenged && $0.lifecycle.isLoading }) else { return }
    ChallengedTaskWatch.begin(task: task, request: self)
  }

  /// The task ended beyond our sight; a delegate of ours may have seen its last leg.
  func ended(
    _ task: URLSessionTask, delivered bytes: Int64? = nil, firstByte: ContinuousClock.Instant? = nil
  ) {
    if let error = task.error {
      failed(error)
    } else {
      let facts = state.withLock { $0.facts }
      var ending = TransferEnding(
        request: request, response: task.response, task: task, facts: facts, resendCount: nil)
      ending.deliver(bytes, firstByte: firstByte)
      end(ending)
    }
  }

  /// The loader failed.
  func failed(_ error: any Error) {
    let response = state.withLock { $0.facts.response } as? HTTPURLResponse
    end(RequestEnd(error, statusCode: response?.statusCode))
  }

  /// The request has waited for so long that it may never end.
  func waits(for duration: Duration) {
    guard let started = state.withLock({ $0.lifecycle.started }) else { return }
    context.tap.events.add(.waits(started, duration))
  }

  /// Ends the request with a response.
  func end(_ ending: TransferEnding) {
    end(.response(statusCode: ending.response?.statusCode), ending)
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd, _ ending: TransferEnding? = nil) {
    guard let started = state.withLock({ $0.lifecycle.end() }), !started.observers.isEmpty else { return }
    context.tap.events.add(.ended(started, end, ending, at: ending?.instant ?? .now))
  }
}
