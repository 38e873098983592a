import Foundation
import SessionTap
import Synchronization

/// Values to record: the same in every run, and shaped like durations.
enum Samples {
  /// 65,536 lognormal values around 50 ms, by the Box-Muller transform of a seeded generator.
  static let durations: [Double] = lognormal(count: 65_536, median: 0.05, sigma: 1)

  static func lognormal(count: Int, median: Double, sigma: Double) -> [Double] {
    var state: UInt64 = 0x9e37_79b9_7f4a_7c15
    // xorshift64* (Vigna 2016): short, and good enough here.
    func uniform() -> Double {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return (Double((state &* 0x2545_f491_4f6c_dd1d) >> 11) + 0.5) * 0x1p-53
    }
    return (0..<count).map { _ in
      median * exp(sigma * (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()))
    }
  }
}

/// Requests to record: a few hosts, routes and results, as a service has them.
enum RequestSamples {
  static let observations: [RequestObservation] = (0..<1_024).map { index in
    let host = "service-\(index % 5).internal.example.com"
    return RequestObservation(
      request: RequestDescription(
        client: index % 3 == 0 ? "payments" : "catalogue", method: index % 4 == 0 ? "POST" : "GET",
        url: "https://\(host)/v1/users/\(index)", serverAddress: host, serverPort: 443,
        urlTemplate: "/v1/users/{id}"),
      start: .now, duration: .nanoseconds(Int64(Samples.durations[index] * 1e9)),
      end: index % 50 == 0 ? .failure(.timeout, statusCode: nil) : .response(statusCode: 200),
      requestBodySize: Int64(index), responseBodySize: Int64(index) * 100)
  }

  /// 100,000 requests, each for another host.
  static let attack = many { "host-\($0).attacker.example.com" }

  /// As many requests, each with its own copy of one of a few hosts: as cold in the caches as the attack.
  static let calm = many { "service-\($0 % 5).internal.example.com" }

  private static func many(host: (Int) -> String) -> [RequestObservation] {
    (0..<100_000).map { index in
      var observation = observations[index & 1_023]
      observation.request.serverAddress = host(index)
      return observation
    }
  }
}

/// Registries of many series.
enum SeriesFixture {
  /// A histogram family of that many series with 14 buckets, labelled as those of requests are.
  static func make(seriesCount: Int) throws -> Registry {
    let registry = Registry()
    let family = try registry.histogram(
      "http_client_request_duration_seconds", help: "Duration of HTTP client requests.", unit: "seconds",
      by: Route.self, configuration: SeriesConfiguration(limit: seriesCount))
    for number in 0..<seriesCount {
      let histogram = family[Route(method: "GET", address: "host-\(number).example.com", status: 200)]
      for value in Samples.durations.dropFirst(number % 1_000).prefix(50) { histogram.record(value) }
    }
    return registry
  }

  private struct Route: LabelSet {
    let method: String
    let address: String
    let status: Int

    static let labels = [
      Label<Route>("http_request_method", \.method), Label<Route>("server_address", \.address),
      Label<Route>("http_response_status_code", \.status),
    ]
  }
}

/// The least cost of a lock: the reference for recorders that lock for each record.
enum UncontendedMutex {
  /// The time of one lock and unlock around an addition.
  static var nanoseconds: Double {
    let (samples, count) = (Samples.durations, 1_000_000)
    return Stopwatch.nanoseconds(per: count) { add(samples, count) }
  }

  static func add(_ samples: [Double], _ count: Int) {
    let mutex = Mutex(0.0)
    for index in 0..<count { mutex.withLock { $0 += samples[index & 65_535] } }
  }
}
