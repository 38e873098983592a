import Foundation
import SessionTap
import Synchronization
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests of random kinds from eight threads, some of them cancelled, against a server of this process.
final class RandomRun: Sendable {
  private static let threadCount = 8
  private static let inFlightPerThread = 4

  private let origin: Origin
  private let closed: ClosedPort
  private let plain: URLSession
  private let delegated: URLSession
  private let delegate = RandomRunDelegate()
  private let uploadFile: URL
  private let uploadBody = Data(repeating: 7, count: 500)
  private let cancelledBeforeResume = Atomic<Int>(0)

  /// - Parameter tap: Observes the requests. `nil` for a stock run.
  init(tap: URLSessionTap?) throws {
    origin = try Origin(keepsRequests: false) { RandomRequest.steps(for: $0) }
    closed = try ClosedPort()
    uploadFile = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
    try uploadBody.write(to: uploadFile)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 16
    plain = URLSession(
      configuration: tap?.sessionConfiguration(from: configuration, client: "plain") ?? configuration)
    delegated = URLSession(
      configuration: tap?.sessionConfiguration(from: configuration, client: "delegated") ?? configuration,
      delegate: delegate, delegateQueue: nil)
  }

  /// Makes this many requests and waits until the app has heard of the end of each.
  ///
  /// - Parameter cancelsEnding: Whether what comes to its end by itself is cancelled too.
  /// - Returns: How many were cancelled before they began.
  func run(count: Int, seed: UInt64, cancelsEnding: Bool = false) async throws -> Int {
    let isDone = Gate()
    let threads = DispatchGroup()
    for thread in 0..<Self.threadCount {
      threads.enter()
      Thread.detachNewThread { [self] in
        let ids = (thread * count / Self.threadCount)..<((thread + 1) * count / Self.threadCount)
        makeRequests(ids, seed, cancelsEnding)
        threads.leave()
      }
    }
    threads.notify(queue: .global()) { isDone.open() }
    try await isDone.wait(seconds: 900, "the end of all requests")
    plain.finishTasksAndInvalidate()
    delegated.finishTasksAndInvalidate()
    origin.stop()
    try FileManager.default.removeItem(at: uploadFile)
    return cancelledBeforeResume.load(ordering: .relaxed)
  }

  private func makeRequests(_ ids: Range<Int>, _ seed: UInt64, _ cancelsEnding: Bool) {
    var generator = SeededGenerator(seed: seed &+ UInt64(ids.lowerBound))
    let slots = DispatchSemaphore(value: Self.inFlightPerThread)
    let all = DispatchGroup()
    var doomed: [@Sendable () -> Void] = []
    for id in ids {
      let request = RandomRequest(id: id, cancelsEnding: cancelsEnding, using: &generator)
      slots.wait()
      all.enter()
      let cancel = start(request) {
        slots.signal()
        all.leave()
      }
      switch request.cancel {
      case .never: break
      case .beforeResume, .atOnce: cancel()
      case .later: doomed.append(cancel)
      }
      // Before they take all the slots.
      if doomed.count >= Self.inFlightPerThread - 1 || Bool.random(using: &generator), !doomed.isEmpty {
        doomed.removeFirst()()
      }
    }
    for cancel in doomed { cancel() }
    all.wait()
  }

  /// Starts a request, unless it is to be cancelled before, and gives what cancels it.
  private func start(
    _ request: RandomRequest, whenDone done: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    let urlRequest = request.urlRequest(port: origin.port, closedPort: closed.port)
    let task: URLSessionTask
    switch request.call {
    case .async, .asyncDownload:
      Task {
        if request.call == .async {
          _ = try? await plain.data(for: urlRequest)
        } else if let (file, _) = try? await plain.download(for: urlRequest) {
          try? FileManager.default.removeItem(at: file)
        }
        done()
      }
      return {}
    case .dataHandler: task = plain.dataTask(with: urlRequest) { _, _, _ in done() }
    case .uploadHandler: task = plain.uploadTask(with: urlRequest, from: uploadBody) { _, _, _ in done() }
    case .uploadFileHandler:
      task = plain.uploadTask(with: urlRequest, fromFile: uploadFile) { _, _, _ in done() }
    case .downloadHandler:
      task = plain.downloadTask(with: urlRequest) { file, _, _ in
        if let file { try? FileManager.default.removeItem(at: file) }
        done()
      }
    case .dataDelegate: task = delegated.dataTask(with: urlRequest)
    case .uploadDelegate: task = delegated.uploadTask(with: urlRequest, from: uploadBody)
    case .downloadDelegate: task = delegated.downloadTask(with: urlRequest)
    }
    if request.isDelegated { delegate.whenComplete(task, done) }
    if request.starts {
      task.resume()
    } else {
      cancelledBeforeResume.add(1, ordering: .relaxed)
    }
    return { task.cancel() }
  }
}
