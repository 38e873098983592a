import Foundation
import Synchronization
import TapCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The client of the tapped loader: notes what passes and forwards every call to the original client.
///
/// The sender stays the loader. Foundation reads the finished file and the data from the sender's own
/// properties, and caches only what its own loaders send. An end is noted before it is forwarded: a scrape
/// that the app makes when it learns of an end shows it.
///
/// What a loader reports after its end is dropped: a native loader that is stopped by a cancel after it has finished
/// reports a failure too (`_NativeProtocol.completeTask(withError:)`), and Foundation's client ends the process if the
/// task has left the session's registry by then.
final class ClientRelay: NSObject, URLProtocolClient {
  private let original: any URLProtocolClient
  /// The request as each tap of the session sees it.
  private let requests: [TappedRequest]
  private let hasEnded = Atomic<Bool>(false)

  init(to original: any URLProtocolClient, requests: [TappedRequest]) {
    self.original = original
    self.requests = requests
  }

  /// Whether the loader has reported its end, and Foundation puts no other loader in its place.
  var isDone: Bool { hasEnded.load(ordering: .acquiring) }

  /// The loader starts, for the first time or again.
  func start() {
    for request in requests { request.start() }
  }

  /// The app has cancelled the task.
  func cancel() {
    for request in requests { request.end(.cancelled) }
  }

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    guard !isDone else { return }
    for request in requests { request.received(response) }
    original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    guard !isDone else { return }
    for request in requests { request.received(bytes: data.count) }
    original.urlProtocol(sender, didLoad: data)
  }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    guard !isDone else { return }
    let task = sender.task
    // A getter of the task waits for a queue of the task's: it is called once.
    let response = task?.response
    let isChallenged = (response as? HTTPURLResponse)?.asksForCredentials ?? false
    for request in requests {
      request.finished(task, loader: sender, response: response, isChallenged: isChallenged)
    }
    // A challenge is not the end: Foundation asks for credentials, and may serve the rest with another loader.
    if !isChallenged { hasEnded.store(true, ordering: .releasing) }
    original.urlProtocolDidFinishLoading(sender)
    guard isChallenged, let task else { return }
    for request in requests { ChallengedTaskWatch.begin(task: task, request: request) }
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    guard !hasEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
    for request in requests { request.failed(error) }
    original.urlProtocol(sender, didFailWithError: error)
  }

  func urlProtocol(
    _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
  ) {
    guard !isDone else { return }
    original.urlProtocol(sender, wasRedirectedTo: request, redirectResponse: redirectResponse)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    guard !isDone else { return }
    for request in requests { request.receivedFromCache() }
    original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    guard !isDone else { return }
    original.urlProtocol(sender, didReceive: challenge)
  }

  func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    guard !isDone else { return }
    original.urlProtocol(sender, didCancel: challenge)
  }
}
