import Foundation
import Synchronization
import TapCore
import TapURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Benchmark {
  /// Reading all that libcurl knows of a finished transfer, on Foundation's queue.
  static let accountRead = reading("account.read") { MeasuredLoader.nanosecondsPerRead.withLock { $0 } }

  /// The same with the kernel's account of the connection, which is read of long requests, of uploads, and
  /// once in a second.
  static let connectionRead = reading("account.read.connection") {
    MeasuredLoader.nanosecondsPerConnectionRead.withLock { $0 }
  }

  /// Finding the trace of a request's place where its task is resumed, and carrying it to where its loader is
  /// made.
  static let carriedTrace = Benchmark(
    "request.trace.carried", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let (requests, rounds) = (CarriedRequests(limit: 1_000), 100_000)
      return TraceContext.$current.withValue(.random()) {
        Stopwatch.nanoseconds(per: rounds) {
          for _ in 0..<rounds {
            requests.add(.init(trace: .ofCurrentWork, loader: URLProtocol.self, context: requests))
            _ = requests.take(from: .current)?.trace?.child()
          }
        }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  private static func reading(_ name: String, _ nanoseconds: @escaping @Sendable () -> Double?) -> Benchmark {
    Benchmark(
      name, unit: "ns", reference: "one uncontended Mutex lock and unlock",
      isUsable: CurlInfo.shared != nil,
      value: {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MeasuredLoader.self]
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        try await LoopbackTransfers.shared.get(from: session)
        guard let measured = nanoseconds() else { throw NoAccount() }
        return measured
      },
      referenceValue: { UncontendedMutex.nanoseconds })
  }
}

private struct NoAccount: Error, CustomStringConvertible {
  var description: String { "the loader of the request has no account" }
}

/// Serves its task by a native loader, whose account it reads repeatedly before it passes the end on.
private final class MeasuredLoader: URLProtocol {
  static let nanosecondsPerRead = Mutex<Double?>(nil)
  static let nanosecondsPerConnectionRead = Mutex<Double?>(nil)

  private static let native = (URLSessionConfiguration.default.protocolClasses ?? [])
    .compactMap { $0 as? URLProtocol.Type }

  private var loader: URLProtocol?

  override class func canInit(with request: URLRequest) -> Bool {
    native.contains { $0.canInit(with: request) }
  }

  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    super.init(request: request, cachedResponse: cachedResponse, client: client)
  }

  required init(task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
    let request = task.originalRequest ?? URLRequest(url: URL(fileURLWithPath: "/"))
    super.init(request: request, cachedResponse: cachedResponse, client: client)
    #if canImport(FoundationNetworking)
      self.task = task
      guard let original = self.client else { return }
      loader = Self.native.first { $0.canInit(with: request) }?
        .init(task: task, cachedResponse: cachedResponse, client: MeasuringClient(before: original))
    #endif
  }

  override func startLoading() { loader?.startLoading() }
  override func stopLoading() { loader?.stopLoading() }
}

/// Measures when the loader has finished, and passes all on.
private final class MeasuringClient: NSObject, URLProtocolClient {
  private let original: any URLProtocolClient

  init(before original: any URLProtocolClient) { self.original = original }

  func urlProtocolDidFinishLoading(_ sender: URLProtocol) {
    let count = 10_000
    var transfer = TransferInfo()
    let nanoseconds = Stopwatch.nanoseconds(per: count) {
      for _ in 0..<count { CurlInfo.shared?.read(sender, into: &transfer) }
    }
    let isRead = transfer.isNative
    MeasuredLoader.nanosecondsPerRead.withLock { $0 = isRead ? nanoseconds : nil }
    let connections = Connections()
    var isConnectionRead = true
    let both = Stopwatch.nanoseconds(per: count) {
      for _ in 0..<count {
        CurlInfo.shared?.read(sender, into: &transfer)
        // As of a long request: nothing was sent for as long as this takes.
        transfer.elapsed = 10_000_000_000
        let result = connections.read(transfer, at: .now) {
          CurlInfo.shared?.socket(of: sender.task, from: $0)
        }
        if case .read = result {} else { isConnectionRead = false }
      }
    }
    MeasuredLoader.nanosecondsPerConnectionRead.withLock { $0 = isConnectionRead ? both : nil }
    original.urlProtocolDidFinishLoading(sender)
  }

  func urlProtocol(
    _ sender: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
  ) {
    original.urlProtocol(sender, didReceive: response, cacheStoragePolicy: policy)
  }

  func urlProtocol(_ sender: URLProtocol, didLoad data: Data) { original.urlProtocol(sender, didLoad: data) }

  func urlProtocol(_ sender: URLProtocol, didFailWithError error: any Error) {
    original.urlProtocol(sender, didFailWithError: error)
  }

  func urlProtocol(_ sender: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
    original.urlProtocol(sender, cachedResponseIsValid: cachedResponse)
  }

  func urlProtocol(
    _ sender: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
  ) {
    original.urlProtocol(sender, wasRedirectedTo: request, redirectResponse: redirectResponse)
  }

  func urlProtocol(_ sender: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
    original.urlProtocol(sender, didReceive: challenge)
  }

  func urlProtocol(_ sender: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
    original.urlProtocol(sender, didCancel: challenge)
  }
}
