import Foundation
import SessionTap
import Synchronization
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes requests at a steady rate, whatever becomes of those before, and counts their ends.
final class SoakLoad: Sendable {
  /// So many may be under way at most: what is due beyond that waits.
  private static let inFlightLimit = 512
  private let places = DispatchSemaphore(value: 0)

  private let port: Int
  private let closedPort: Int
  private let tap: Tap?
  private let plain: URLSession
  private let delegated: URLSession
  private let delegate = SoakDelegate()
  private let uploadBody = Data(repeating: 7, count: 500)
  private let made = Atomic<Int>(0)
  private let ended = Atomic<Int>(0)

  /// - Parameter log: Where the tap's log goes. `nil` makes no tap.
  init(port: Int, closedPort: Int, log: String?) throws {
    self.port = port
    self.closedPort = closedPort
    var configuration = Tap.Configuration(environment: [:])
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.log = log.map { .file($0) }
    configuration.shutdownDeadline = .seconds(30)
    tap = log == nil ? nil : try Tap.start(configuration)
    let sessions = URLSessionConfiguration.ephemeral
    sessions.httpMaximumConnectionsPerHost = 32
    plain = URLSession(configuration: tap?.sessionConfiguration(from: sessions, client: "plain") ?? sessions)
    delegated = URLSession(
      configuration: tap?.sessionConfiguration(from: sessions, client: "delegated") ?? sessions,
      delegate: delegate,
      delegateQueue: nil)
  }

  func run(seconds: Int, rate: Int) async throws {
    write(["address": tap?.address?.description ?? ""])
    let isMade = Gate()
    Thread.detachNewThread { [self] in
      makeRequests(seconds: seconds, rate: rate)
      isMade.open()
    }
    let short = ShortTaps(port: port, isStock: tap == nil)
    repeat {
      // A second, or less at the end.
      try? await isMade.wait(seconds: 1)
      await short.runOne()
      write(progress(short))
    } while !isMade.isOpen
    _ = try? await Poll.until(seconds: 60, "the end of all requests") {
      ended.load(ordering: .relaxed) == made.load(ordering: .relaxed) ? true : nil
    }
    var last = progress(short)
    last["finished"] = 1
    write(last)
    _ = readLine()
    plain.finishTasksAndInvalidate()
    delegated.finishTasksAndInvalidate()
    await tap?.shutdown()
    if let statistics = tap?.requestLog?.statistics {
      write(["lines": Int(statistics.lines), "droppedLines": Int(statistics.droppedLines)])
    }
  }

  private func progress(_ short: ShortTaps) -> [String: any Sendable] {
    // Ends first: they are never more than what was made.
    let ended = ended.load(ordering: .acquiring)
    return [
      "made": made.load(ordering: .acquiring), "ended": ended, "shortTaps": short.count,
      "shortFaults": short.faults,
    ]
  }

  private func write(_ object: [String: any Sendable]) {
    guard let data = try? JSONSerialization.data(withJSONObject: object) else { return }
    FileHandle.standardOutput.write(data + Data("\n".utf8))
  }

  // MARK: - Requests

  private func makeRequests(seconds: Int, rate: Int) {
    // Not from the start: a semaphore must not go with less than it had then.
    for _ in 0..<Self.inFlightLimit { places.signal() }
    var generator = SeededGenerator(seed: 20_261_121)
    let pace = Pace(perSecond: Double(rate))
    var due = 0
    while pace.elapsed < .seconds(seconds) {
      pace.wait(for: due)
      due += 1
      places.wait()
      make(SoakRequest(using: &generator))
    }
  }

  private func make(_ request: SoakRequest) {
    made.add(1, ordering: .relaxed)
    let urlRequest = request.urlRequest(port: port, closedPort: closedPort)
    let done: @Sendable () -> Void = { [self] in
      ended.add(1, ordering: .releasing)
      places.signal()
    }
    let task: URLSessionTask
    switch (request.style, request.kind) {
    case (.async, _):
      Task {
        switch request.kind {
        case .data: _ = try? await plain.data(for: urlRequest)
        case .upload: _ = try? await plain.upload(for: urlRequest, from: uploadBody)
        case .download: Self.remove(try? await plain.download(for: urlRequest).0)
        }
        done()
      }
      return
    case (.handler, .data): task = plain.dataTask(with: urlRequest) { _, _, _ in done() }
    case (.handler, .upload):
      task = plain.uploadTask(with: urlRequest, from: uploadBody) { _, _, _ in done() }
    case (.handler, .download):
      task = plain.downloadTask(with: urlRequest) { file, _, _ in
        Self.remove(file)
        done()
      }
    case (.delegate, .data): task = delegated.dataTask(with: urlRequest)
    case (.delegate, .upload): task = delegated.uploadTask(with: urlRequest, from: uploadBody)
    case (.delegate, .download): task = delegated.downloadTask(with: urlRequest)
    }
    if request.style == .delegate { delegate.whenComplete(task, done) }
    task.resume()
    if let delay = request.cancelDelay {
      DispatchQueue.global().asyncAfter(deadline: .now() + delay) { task.cancel() }
    }
  }

  private static func remove(_ file: URL?) {
    if let file { try? FileManager.default.removeItem(at: file) }
  }
}

/// Calls back when a task of a session has completed.
private final class SoakDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
  private let completions = Mutex<[Int: @Sendable () -> Void]>([:])

  func whenComplete(_ task: URLSessionTask, _ completion: @escaping @Sendable () -> Void) {
    completions.withLock { $0[task.taskIdentifier] = completion }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
  ) {
    try? FileManager.default.removeItem(at: location)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completions.withLock { $0.removeValue(forKey: task.taskIdentifier) }?()
  }
}
