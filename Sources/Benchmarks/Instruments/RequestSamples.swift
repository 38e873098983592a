import SessionTap

/// Requests to record: a few hosts, routes and results, as a service has them.
enum RequestSamples {
  /// 1,024 ended requests.
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
