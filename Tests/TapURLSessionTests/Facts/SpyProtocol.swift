import TestSupport

/// Stands before the native loader as the tap does, and writes down what Foundation does to it. By the
/// request's URL, since a class is all that a configuration can carry.
final class SpyProtocol: URLProtocol {
  private static let notes = Mutex<[String: [String]]>([:])

  /// A configuration with the spy in front.
  static func configuration() -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral(with: SpyProtocol.self)
    return configuration
  }

  static func events(_ url: URL) -> [String] { notes.withLock { $0["\(url)"] ?? [] } }

  private static func note(_ event: String, for url: URL?) {
    let key = "\(url?.absoluteString ?? "")"
    notes.withLock { notes in
      // The network cuts a body where it likes.
      if notes[key]?.last != event { notes[key, default: []].append(event) }
    }
  }

  private var loader: URLProtocol?

  override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "http" }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    self.task = task
    Self.note("init", for: request.url)
    let body = request.httpBody?.count ?? (request.httpBodyStream == nil ? nil : -1)
    Self.note("body \(body.map { "\($0)" } ?? "none")", for: request.url)
    guard let original = self.client, let native = Self.native else { return }
    loader = native.init(
      task: task, cachedResponse: cachedResponse, client: Relay(to: original, url: request.url))
  }

  override func startLoading() {
    Self.note("start", for: request.url)
    loader?.startLoading()
  }

  override func stopLoading() {
    Self.note("stop \(task?.state.rawValue ?? -1)", for: request.url)
    loader?.stopLoading()
  }

  /// The native loader of http.
  private static let native: URLProtocol.Type? = {
    guard let url = URL(string: "http://localhost/") else { return nil }
    return (URLSessionConfiguration.default.protocolClasses ?? []).lazy
      .compactMap { $0 as? URLProtocol.Type }.first { $0.canInit(with: URLRequest(url: url)) }
  }()

  /// Hands every event on, and notes it.
  private final class Relay: NSObject, URLProtocolClient {
    private let original: any URLProtocolClient
    private let url: URL?

    init(to original: any URLProtocolClient, url: URL?) {
      self.original = original
      self.url = url
    }

    func urlProtocol(
      _ sender: URLProtocol, didReceive response: URLResponse,
      cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
      SpyProtocol.note("response", for: url)
      original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
    }

    func urlProtocol(_ sender: URLProtocol, didLoad data: Data) {
      SpyProtocol.note("data", for: url)
      original.urlProtocol(sender, didLoad: data)
    }

    func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
      let status = (sender.task?.response as? HTTPURLResponse)?.statusCode
      SpyProtocol.note("finish \(status ?? 0)", for: url)
      original.urlProtocolDidFinishLoading(sender)
    }

    func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
      SpyProtocol.note("fail \((error as? URLError)?.code.rawValue ?? 0)", for: url)
      original.urlProtocol(sender, didFailWithError: error)
    }

    func urlProtocol(
      _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
    ) { SpyProtocol.note("redirected", for: url) }

    func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
      SpyProtocol.note("from cache", for: url)
      original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
    }

    func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
      SpyProtocol.note("challenge", for: url)
      original.urlProtocol(sender, didReceive: challenge)
    }

    func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
      original.urlProtocol(sender, didCancel: challenge)
    }
  }
}
