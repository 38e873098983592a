import SessionTap
import Synchronization

extension Benchmark {
  /// A whole request through the request metrics: counted as started and ended, its labels looked up twice, its
  /// duration and both sizes recorded.
  static let observationRecord = Benchmark(
    "observation.record", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let metrics = try RequestMetrics(registry: Registry())
      let observations = RequestSamples.observations
      for observation in observations { record(observation, in: metrics) }
      // A caller has its observation at hand: to take it out of an array would copy it.
      return observations.withUnsafeBufferPointer { observations in
        Stopwatch.nanoseconds(per: operations) {
          for index in 0..<operations { record(observations[index & 1_023], in: metrics) }
        }
      }
    },
    referenceValue: {
      let mutex = Mutex(0.0)
      return Stopwatch.nanoseconds(per: operations) {
        for index in 0..<operations {
          let value = Samples.durations[index & 65_535]
          mutex.withLock { $0 += value }
        }
      }
    })

  private static let operations = 200_000

  private static func record(_ observation: RequestObservation, in metrics: RequestMetrics) {
    metrics.requestStarted(observation.request)
    metrics.requestEnded(observation)
  }
}
