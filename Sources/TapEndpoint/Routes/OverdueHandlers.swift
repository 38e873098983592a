import Synchronization
import TapCore

/// Counts the handlers that outlive their requests, by the path of their route.
final class OverdueHandlers: Collector {
  private let counts = Mutex<[String: Int]>([:])

  func change(by change: Int, at path: String) { counts.withLock { $0[path, default: 0] += change } }

  func collect() -> [MetricFamily] {
    let samples = counts.withLock { $0 }.map { path, count in
      MetricFamily.Sample(labels: ["path": path], value: Double(count))
    }
    return [
      MetricFamily(
        name: "session_tap_overdue_handlers",
        help:
          "Handlers of routes that run although their request is over: its deadline has passed, or its client is gone.",
        kind: .gauge, samples: samples)
    ]
  }
}
