import SessionTap

extension Benchmark {
  /// A whole request through the request metrics: counted as started and ended, its labels looked up, its
  /// duration and both sizes recorded.
  static let observationRecord = Benchmark(
    "observation.record", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let metrics = try RequestMetrics(.outbound)
      let observations = RequestSamples.observations
      for observation in observations { record(observation, in: metrics) }
      // A caller has its observation at hand: to take it out of an array would copy it.
      return observations.withUnsafeBufferPointer { observations in
        Stopwatch.nanoseconds(per: operations) {
          for index in 0..<operations { record(observations[index & 1_023], in: metrics) }
        }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  /// The 99th percentile of a whole request, clocks included, while every request is for another of 100,000 hosts;
  /// beside as many for a few hosts.
  static let observationP99UnderAttack = Benchmark(
    "observation.p99_under_attack", unit: "ns", reference: "a few hosts", rounds: 5,
    value: { try percentile(of: RequestSamples.attack) },
    referenceValue: { try percentile(of: RequestSamples.calm) })

  private static func percentile(of observations: [RequestObservation]) throws -> Double {
    let metrics = try RequestMetrics(.outbound)
    for observation in observations.prefix(10_000) { record(observation, in: metrics) }
    let times = observations.withUnsafeBufferPointer { observations in
      (0..<100_000).map { index in
        Stopwatch.nanoseconds(per: 1) { record(observations[index % observations.count], in: metrics) }
      }
    }
    return times.sorted()[99_000]
  }

  private static let operations = 200_000

  private static func record(_ observation: RequestObservation, in metrics: RequestMetrics) {
    metrics.end(observation, metrics.begin(observation.request))
  }
}

extension Benchmark {
  /// A whole inbound request through the recorder: its trace continued, counted as started and ended, its labels looked
  /// up, its duration and both sizes recorded, three clocks read.
  static let inboundRecord = Benchmark(
    "inbound.record", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let recorder = try RequestRecorder(registry: Registry())
      record(recorder)
      return Stopwatch.nanoseconds(per: inboundOperations) {
        for _ in 0..<(inboundOperations / 1_024) { record(recorder) }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  private static let inboundOperations = 200 * 1_024

  private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  private static let routes = ["/v1/users/{id}", "/v1/users/{id}/orders", "/v1/carts/{id}", "/", "/healthz"]

  /// 1,024 requests of a few routes and results, as a service has them.
  private static func record(_ recorder: RequestRecorder) {
    let requests = recorder.inbound
    for index in 0..<1_024 {
      let request = requests.begin(
        method: index % 4 == 0 ? "POST" : "GET", path: "/v1/users/42", scheme: "https",
        traceparent: traceparent)
      request.end(
        statusCode: index % 50 == 0 ? 503 : 200, route: routes[index % 5], requestBodySize: index,
        responseBodySize: index * 100)
    }
    recorder.drain()
  }
}
