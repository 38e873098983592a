public import SessionTap
import Synchronization

extension Tap {
  /// Makes a tap for the tests of an app. It listens at no port, keeps its log in memory, prints nothing, and
  /// reads no environment. Taps share nothing, so tests may run in parallel.
  ///
  ///     let tap = try Tap.testing { $0.outbound.pathTemplates = ["/users/{id}"] }
  public static func testing(_ change: (inout Configuration) -> Void = { _ in }) throws(TapError) -> Tap {
    var configuration = Configuration(environment: [:])
    configuration.endpoint = nil
    configuration.exposesProcess = false
    configuration.isQuiet = true
    configuration.log = .memory
    configuration.logging.recentLineLimit = 1_000
    configuration.consumers = [RecordedRequests()]
    change(&configuration)
    return try start(configuration)
  }

  /// The newest 10,000 requests that a tap of ``testing(_:)`` has recorded, in the order of their ends. A
  /// request is among them once the app has its end. Empty for any other tap.
  public func recordedRequests() -> [RequestObservation] {
    recorder.drain()
    return configuration.consumers.flatMap { ($0 as? RecordedRequests)?.newest ?? [] }
  }
}

private final class RecordedRequests: RequestConsumer {
  private static let limit = 10_000

  private let ended = Mutex<[RequestObservation]>([])

  var newest: [RequestObservation] { ended.withLock { $0.suffix(Self.limit) } }

  func requestEnded(_ observation: RequestObservation) {
    ended.withLock { ended in
      ended.append(observation)
      if ended.count >= 2 * Self.limit { ended.removeFirst(Self.limit) }
    }
  }
}
