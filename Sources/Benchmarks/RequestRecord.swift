import SessionTap

extension Benchmark {
  /// A whole request through the request metrics: counted as started and ended, its labels looked up, its
  /// duration and both sizes recorded.
  static let observationRecord = Benchmark(
    "observation.record", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let metrics = try RequestMetrics(.outbound)
      let observations = RequestSamples.observations
      for observation in observations { metrics.record(observation) }
      // A caller has its observation at hand: to take it out of an array would copy it.
      return observations.withUnsafeBufferPointer { observations in
        Stopwatch.nanoseconds(per: operations) {
          for index in 0..<operations { metrics.record(observations[index & 1_023]) }
        }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  /// The 99th percentile of a whole request, clocks included, while every request is for another of 100,000
  /// hosts; beside as many for a few hosts.
  static let observationP99UnderAttack = Benchmark(
    "observation.p99_under_attack", unit: "ns", reference: "a few hosts", rounds: 5,
    value: { try percentile(of: RequestSamples.attack) },
    referenceValue: { try percentile(of: RequestSamples.calm) })

  private static func percentile(of observations: [RequestObservation]) throws -> Double {
    let metrics = try RequestMetrics(.outbound)
    for observation in observations.prefix(10_000) { metrics.record(observation) }
    let times = observations.withUnsafeBufferPointer { observations in
      (0..<100_000).map { index in
        Stopwatch.nanoseconds(per: 1) { metrics.record(observations[index % observations.count]) }
      }
    }
    return times.sorted()[99_000]
  }

  private static let operations = 200_000
}

extension RequestMetrics {
  func record(_ observation: RequestObservation) {
    withLock { $0.end(observation, $0.begin(observation.request)) }
  }
}

extension Benchmark {
  /// Instructions of a whole request through the request metrics and the log: all work off its path.
  static let requestDrainInstructions = Benchmark(
    "request.drain.instructions", unit: "instructions", reference: "one uncontended Mutex lock and unlock",
    rounds: 1, isUsable: Valgrind.isInstalled,
    value: { try await Valgrind.instructions(of: .drain, count: 20_000, after: 2_048) },
    referenceValue: { try await Valgrind.instructions(of: .mutex, count: 200_000) })
}

/// Requests to a few hosts that are recorded and logged, with all that is known of one on a connection that
/// was open.
struct DrainedRequests {
  private let metrics: RequestMetrics
  private let log: RequestLog
  private let observations = RequestSamples.observations.map { observation in
    var observation = observation
    observation.timeToFirstByte = .microseconds(10_400)
    for (phase, length) in [(.queue, 40), (.processing, 10_360), (.transfer, 900), (.local, 250)]
      as [(RequestTimings.Phase, Int)]
    {
      observation.timings[phase] = .microseconds(length)
    }
    observation.protocolVersion = .http11
    observation.peerAddress = "192.0.2.17"
    observation.isConnectionReused = true
    observation.openedConnections = 0
    observation.resendCount = 0
    return observation
  }

  init() throws {
    metrics = try RequestMetrics(.outbound)
    log = try RequestLog(to: .memory)
  }

  func record(_ count: Int) {
    observations.withUnsafeBufferPointer { observations in
      for index in 0..<count {
        record(observations[index & 1_023])
        if index & 4_095 == 0 { log.flush(within: .seconds(60)) }
      }
    }
    log.shutdown(within: .seconds(60))
  }

  private func record(_ observation: RequestObservation) {
    metrics.record(observation)
    log.requestEnded(observation)
  }
}

extension Benchmark {
  /// A whole inbound request through the recorder: its trace continued, counted as started and ended, its
  /// labels looked up, its duration and both sizes recorded, three clocks read.
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
