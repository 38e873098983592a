extension RequestObservation {
  /// The request of the contract's example.
  package static var example: RequestObservation {
    RequestObservation(
      request: RequestDescription(
        client: "payments", method: "GET", url: "https://api.example.com/v1/users/42?token=s3cret",
        serverAddress: "api.example.com", serverPort: 443,
        traceContext: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")),
      start: Timestamp(nanosecondsSinceEpoch: 1_795_253_400_111_111_456), duration: .nanoseconds(12_345_000),
      end: .response(statusCode: 200), requestBodySize: 0, responseBodySize: 512)
  }

  /// As much as there can be. Tests of lines, of metrics and of boards take it, so what an observation gains
  /// is set here.
  package static func whole(_ direction: RequestDirection, _ end: RequestEnd) -> RequestObservation {
    var whole = example
    whole.request.direction = direction
    (whole.request.method, whole.request.urlTemplate) = ("BREW", "/users/{id}")
    (whole.request.scheme, whole.request.clientAddress) = ("https", "203.0.113.7")
    (whole.end, whole.errorMessage, whole.timeToFirstByte) = (end, "text", .seconds(1))
    (whole.headStatusCode, whole.exceptionType) = (end.statusCode, "Shop.Mishap")
    for phase in RequestTimings.Phase.allCases { whole.timings[phase] = .seconds(1) }
    whole.cutOffPhase = .processing
    (whole.protocolVersion, whole.peerAddress) = (.http11, "203.0.113.8")
    (whole.openedConnections, whole.isConnectionReused, whole.timeToResend) = (1, false, .seconds(1))
    (whole.networkRoundTrip, whole.retransmittedSegments) = (.seconds(1), 1)
    (whole.resendCount, whole.isFromCache) = (1, true)
    (whole.request.headers, whole.responseHeaders) = (["accept": "text/plain"], ["server": "x"])
    whole.upstream = .example
    return whole
  }

  /// As little as there can be.
  package static func bare(_ end: RequestEnd = .response(statusCode: 200)) -> RequestObservation {
    RequestObservation(
      request: RequestDescription(client: "c", method: "GET"), start: Timestamp(nanosecondsSinceEpoch: 0),
      duration: .zero, end: end)
  }

  /// Nanoseconds, as the phases have them.
  package var elapsed: Int64 { duration.nanoseconds }
  package var elapsedToFirstByte: Int64? { timeToFirstByte?.nanoseconds }

  package func with(url: String) -> RequestObservation { TestSupport.with(self) { $0.request.url = url } }

  package func with(fields: [String: FieldValue]) -> RequestObservation {
    TestSupport.with(self) { $0.request.fields = fields }
  }
}

extension RequestSnapshot {
  /// A request that has been active for so long, and by default waits for the response.
  package init(
    _ request: RequestDescription, for duration: Duration,
    _ progress: RequestProgress = RequestProgress(wait: .response), at now: Instant = .now
  ) {
    let begin = Instant(nanoseconds: now.nanoseconds &- duration.nanoseconds)
    self.init(request, start: .now, begin: begin, progress, at: now)
  }
}

extension UpstreamTime {
  /// Three calls in 12 ms, two of them beside each other.
  package static var example: UpstreamTime {
    with(UpstreamTime()) {
      $0.nanoseconds = 12_000_000
      $0.clients = [
        Client(name: "payments", requestCount: 2, nanoseconds: 14_000_000),
        Client(name: "stock", requestCount: 1, nanoseconds: 5_000_000),
      ]
    }
  }
}
