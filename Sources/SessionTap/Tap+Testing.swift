import Synchronization
public import TapCore

extension Tap {
  /// Makes a tap for the tests of an app. It listens at no port, keeps its log in memory, prints nothing, and
  /// reads no environment. Taps share nothing, so tests may run in parallel.
  ///
  /// ```swift
  /// let tap = try Tap.testing()
  /// _ = try await tap.session(client: "users").data(from: url)
  /// assert(tap.recordedRequests().map(\.request.client) == ["users"])
  /// ```
  ///
  /// - Parameter change: Changes the configuration as the app does.
  /// - Throws: ``TapError`` as ``init(_:registry:)`` does.
  public static func testing(_ change: (inout Configuration) -> Void = { _ in }) throws(TapError) -> Tap {
    var configuration = Configuration(environment: [:])
    configuration.endpoint = nil
    configuration.exposesProcess = false
    configuration.isQuiet = true
    configuration.log = .memory
    configuration.logging.recentLineLimit = Configuration.servedLineLimit
    configuration.recorded = RecordedRequests()
    change(&configuration)
    return try start(configuration)
  }

  /// The newest 10,000 requests that a tap of ``testing(_:)`` has recorded, in the order of their ends. A
  /// request is among them once the app has its end. Empty for any other tap.
  public func recordedRequests() -> [RequestObservation] {
    guard let recorded = configuration.recorded else { return [] }
    recorder.drain()
    return recorded.requests
  }

  /// The requests of both directions that have not ended, the oldest first: for a readiness check that fails
  /// while requests hang, and for tests.
  ///
  /// ```swift
  /// let hanging = tap.activeRequests(olderThan: .seconds(60))
  /// ```
  ///
  /// Those that URLSession has taken and not started are among them (``/TapCore/RequestWait/start``). The
  /// URLs are not redacted. May be called from any thread; waits for the work of ``flush(within:)`` that
  /// needs the processor alone, and up to 0.1 s for Foundation's queue, on which it looks at the oldest
  /// 1,000.
  ///
  /// - Parameter age: How long a request must have been active. All by default.
  public func activeRequests(olderThan age: Duration = .zero) -> [RequestSnapshot] {
    recorder.activeRequests(olderThan: age)
  }
}

final class RecordedRequests: RequestConsumer {
  private static let limit = 10_000

  private let ended = Mutex<[RequestObservation]>([])

  var requests: [RequestObservation] { ended.withLock { $0.suffix(Self.limit) } }

  func requestEnded(_ observation: RequestObservation) {
    ended.withLock { ended in
      ended.append(observation)
      if ended.count >= 2 * Self.limit { ended.removeFirst(Self.limit) }
    }
  }
}
