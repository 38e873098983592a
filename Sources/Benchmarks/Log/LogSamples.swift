import SessionTap

/// The request of the log's benchmarks: what most lines look like.
enum LogSamples {
  static let observation = RequestObservation(
    request: RequestDescription(
      client: "payments", method: "GET", url: "https://api.example.com/v1/users/42?token=s3cret",
      serverAddress: "api.example.com", serverPort: 443,
      traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
    start: Timestamp(nanosecondsSinceEpoch: 1_795_253_400_111_111_456), duration: .nanoseconds(12_345_000),
    end: .response(statusCode: 200), requestBodySize: 0, responseBodySize: 512)
}
