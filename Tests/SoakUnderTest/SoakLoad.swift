import SessionTap
import TestSupport

/// Makes requests at a steady rate, whatever becomes of those before, and counts their ends.
final class SoakLoad: Sendable {
  /// So many may be active at most: what is due beyond that waits.
  private static let inFlightLimit = 512
  private let places = DispatchSemaphore(value: 0)

  private let port: Int
  private let closedPort: Int
  private let tap: Tap?
  /// One whose tasks have handlers, and one that has a delegate.
  private let plain: URLSession
  private let delegated: URLSession
  private let sender: RequestSender
  private let made = Atomic<Int>(0)
  private let ended = Atomic<Int>(0)

  /// - Parameter log: Where the tap's log goes. `nil` makes no tap.
  init(port: Int, closedPort: Int, log: String?) throws {
    (self.port, self.closedPort) = (port, closedPort)
    var configuration = Tap.Configuration(environment: [:])
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.log = log.map { .file($0) }
    configuration.shutdownTimeout = .seconds(30)
    let tap = log == nil ? nil : try Tap.start(configuration)
    self.tap = tap
    sender = try RequestSender()
    let stock = with(URLSessionConfiguration.ephemeral) { $0.httpMaximumConnectionsPerHost = 32 }
    func tapped(_ client: String) -> URLSessionConfiguration {
      tap?.sessionConfiguration(from: stock, client: client) ?? stock
    }
    plain = URLSession(configuration: tapped("plain"))
    delegated = URLSession(
      configuration: tapped("delegated"), delegate: CompletionDelegate(), delegateQueue: nil)
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
      ended.load(ordering: .relaxed) == made.load(ordering: .relaxed)
    }
    var last = progress(short)
    last["finished"] = 1
    write(last)
    _ = readLine()
    for session in [plain, delegated] { session.finishTasksAndInvalidate() }
    await tap?.shutdown()
    if let statistics = tap?.requestLog?.statistics {
      write(["lines": Int(statistics.lines), "droppedLines": Int(statistics.droppedLines)])
    }
  }

  private func progress(_ short: ShortTaps) -> [String: any Sendable] {
    // Ends first: they are never more than what was made.
    let ended = ended.load(ordering: .acquiring)
    return [
      // Resident memory has besides what malloc keeps for each thread, and the stacks of those that
      // Dispatch adds on a busy machine.
      "inUse": MemoryInUse.bytes,
      "made": made.load(ordering: .acquiring), "ended": ended, "shortTaps": short.count,
      "shortFaults": short.faults,
    ]
  }

  private func write(_ object: [String: any Sendable]) {
    guard let data = try? JSONSerialization.data(withJSONObject: object) else { return }
    FileHandle.standardOutput.write(data + Data("\n".utf8))
  }

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
      make(RandomRequest(id: due, using: &generator))
    }
  }

  /// What would never end is cancelled when its response has begun, or so.
  private func make(_ request: RandomRequest) {
    made.add(1, ordering: .relaxed)
    let cancel = sender.start(
      request.urlRequest(port: port, closedPort: closedPort), request.kind, request.style,
      in: request.style == .delegate ? delegated : plain
    ) { [self] in
      ended.add(1, ordering: .releasing)
      places.signal()
    }
    if request.isCancelled { DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { cancel() } }
  }
}
