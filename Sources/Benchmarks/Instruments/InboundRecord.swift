import SessionTap

extension Benchmark {
  /// A whole inbound request through the recorder: its trace continued, counted as started and ended, its labels looked
  /// up, its duration and both sizes recorded, three clocks read.
  static let inboundRecord = Benchmark(
    "inbound.record", unit: "ns", reference: "one uncontended Mutex lock and unlock",
    value: {
      let recorder = try RequestRecorder(registry: Registry())
      record(recorder)
      return Stopwatch.nanoseconds(per: operations) {
        for _ in 0..<(operations / 1_024) { record(recorder) }
      }
    },
    referenceValue: { UncontendedMutex.nanoseconds })

  private static let operations = 200 * 1_024

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
