import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The client of the tapped loader: notes what passes and hands every call on to the original client.
///
/// The sender stays the loader. Foundation reads the finished file and the data from the sender's own
/// properties, and caches only what its own loaders send. An end is noted before it is handed on: a scrape
/// that the app makes when it hears of an end shows it.
final class ClientRelay: NSObject, URLProtocolClient {
  private let original: any URLProtocolClient
  private let exchange: TappedRequest

  init(to original: any URLProtocolClient, exchange: TappedRequest) {
    self.original = original
    self.exchange = exchange
  }

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    exchange.received(response)
    original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
    exchange.received(bytes: data.count)
    original.urlProtocol(sender, didLoad: data)
  }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    let challenged = exchange.finished(loader: sender)
    original.urlProtocolDidFinishLoading(sender)
    if let challenged { ChallengedTaskWatch.begin(task: challenged, request: exchange) }
  }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    exchange.failed(error)
    original.urlProtocol(sender, didFailWithError: error)
  }

  func urlProtocol(
    _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
  ) {
    original.urlProtocol(sender, wasRedirectedTo: request, redirectResponse: redirectResponse)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    exchange.receivedFromCache()
    original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    original.urlProtocol(sender, didReceive: challenge)
  }

  func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    original.urlProtocol(sender, didCancel: challenge)
  }
}
