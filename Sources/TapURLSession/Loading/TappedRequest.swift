import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One request under observation, from its first start to its one end.
///
/// Calls come from Foundation's queue, from the thread that resumes or cancels, and from the watch on a
/// challenged task; the state machine under the lock decides which of them ends the request.
final class TappedRequest: Sendable {
  /// What the first start fixes for the end.
  private struct Started {
    var description: RequestDescription
    var timestamp: Timestamp
    var instant: ContinuousClock.Instant
    var observers: [any RequestObserver]
  }

  private struct State {
    var lifecycle = RequestLifecycle<Started>()
    var facts = TransferFacts()
    /// The response asks for credentials: Foundation may serve the rest of the task without us.
    var isChallenged = false
  }

  private let request: URLRequest
  private let client: String
  private let tap: URLSessionTap
  private let state = Mutex(State())

  init(request: URLRequest, client: String, tap: URLSessionTap) {
    self.request = request
    self.client = client
    self.tap = tap
    tap.loaderCount.add(1, ordering: .relaxed)
  }

  /// A request whose task goes away without a word was abandoned. The last defence of "ends once".
  deinit {
    end(.cancelled)
    tap.loaderCount.subtract(1, ordering: .relaxed)
  }

  /// Whether the request started and has not ended.
  var isLoading: Bool { state.withLock { $0.lifecycle.isLoading } }

  /// The loader starts, for the first time or again.
  func start() {
    let observers = tap.observers
    let description = RequestDescription(request, client: client)
    let isFirst = state.withLock {
      $0.lifecycle.start(
        Started(
          description: description, timestamp: .now, instant: .now, observers: observers))
    }
    if isFirst {
      for observer in observers { observer.requestStarted(description) }
    }
  }

  /// A response head passed. An interim one (RFC 9110, section 15.2) is not the answer.
  func received(_ response: URLResponse) {
    if let status = (response as? HTTPURLResponse)?.statusCode, (100..<200).contains(status) { return }
    state.withLock { $0.facts.response = response }
  }

  /// A piece of the body passed.
  func received(bytes count: Int) {
    state.withLock { $0.facts.load(count) }
  }

  /// The loader is done. Ends the request, unless Foundation may put another loader on the task.
  func finished(task: URLSessionTask?) {
    let response = task?.response ?? state.withLock { $0.facts.response }
    if (response as? HTTPURLResponse)?.asksForCredentials == true {
      state.withLock { $0.isChallenged = true }
    } else {
      end(response, task: task)
    }
  }

  /// The original client heard of the finish: from here on a challenged task is Foundation's alone.
  func handedOn(task: URLSessionTask?) {
    guard let task, state.withLock({ $0.isChallenged && $0.lifecycle.isLoading }) else { return }
    ChallengedTaskWatch.begin(task: task, request: self)
  }

  /// The loader failed.
  func failed(_ error: any Error) {
    let response = state.withLock { $0.facts.response } as? HTTPURLResponse
    end(RequestEnd(error, statusCode: response?.statusCode))
  }

  /// The task ended with this response.
  func end(_ response: URLResponse?, task: URLSessionTask?) {
    let (facts, isChallenged) = state.withLock { ($0.facts, $0.isChallenged) }
    let sizes = BodySizes(
      request: request, response: response, task: task, loadedBytes: facts.loadedBytes,
      wasResent: isChallenged)
    end(.response(statusCode: (response as? HTTPURLResponse)?.statusCode), sizes: sizes)
  }

  /// Ends the request in this way, unless it has ended or never started.
  func end(_ end: RequestEnd, sizes: BodySizes = .unknown) {
    guard let started = state.withLock({ $0.lifecycle.end() }) else { return }
    let observation = RequestObservation(
      request: started.description, start: started.timestamp, duration: started.instant.duration(to: .now),
      end: end,
      requestBodySize: sizes.request, responseBodySize: sizes.response)
    for observer in started.observers { observer.requestEnded(observation) }
  }
}
