import SessionTap
import TestSupport

/// Requests of random kinds from eight threads, some of them cancelled, against a server of this process.
final class RandomRun: Sendable {
  private static let threadCount = 8
  private static let inFlightPerThread = 4

  private let origin: Origin
  private let closed: ClosedPort
  private let load: RandomLoad
  private let cancelledBeforeResume = Atomic<Int>(0)
  private let watch: ActiveRequestsWatch

  /// - Parameter watch: Is told of the active requests.
  init(tap: URLSessionTap, watch: ActiveRequestsWatch) throws {
    self.watch = watch
    origin = try Origin(keepsRequests: false) { request in
      watch.arrived(request.path)
      return RandomRequest.steps(for: request)
    }
    closed = try ClosedPort()
    load = try RandomLoad(
      port: origin.port, closedPort: closed.port, connections: 16,
      tapped: { tap.sessionConfiguration(from: $0, client: $1) })
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
    load.end()
    origin.stop()
    return cancelledBeforeResume.load(ordering: .relaxed)
  }

  private func makeRequests(_ ids: Range<Int>, _ seed: UInt64, _ cancelsEnding: Bool) {
    var generator = SeededGenerator(seed: seed &+ UInt64(ids.lowerBound))
    let slots = DispatchSemaphore(value: Self.inFlightPerThread)
    let all = DispatchGroup()
    var doomed: [() -> Void] = []
    for id in ids {
      let request = RandomRequest(id: id, cancelsEnding: cancelsEnding, using: &generator)
      slots.wait()
      all.enter()
      watch.starts(id)
      let cancelTask = load.start(request, resumes: request.starts) { [watch] in
        watch.ended(id)
        slots.signal()
        all.leave()
      }
      let cancel = { [watch] in
        watch.isCancelled(id)
        cancelTask()
      }
      if !request.starts { cancelledBeforeResume.add(1, ordering: .relaxed) }
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
}
