import TestSupport

struct RequestMetricsTests {
  private let registry = Registry()

  func count(of labels: String) -> Double? {
    registry.value(ofSeries: "http_client_request_duration_seconds_count{\(labels)}")
  }

  private func request(
    _ method: String = "GET", client: String = "payments", host: String? = "api.example.com",
    template: String? = nil
  ) -> RequestDescription {
    RequestDescription(
      client: client, method: method, url: "https://api.example.com/", serverAddress: host, serverPort: 443,
      urlTemplate: template)
  }

  /// Its sum would fall, which Prometheus takes for a restart.
  @Test func `a duration below 0 counts as 0`() throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(request()) { $0.duration = .seconds(2) }
    metrics.record(request()) { $0.duration = .seconds(-1) }
    #expect(registry.value(of: "http_client_request_duration_seconds_count") == 2)
    #expect(registry.value(of: "http_client_request_duration_seconds_sum") == 2)
  }

  @Test func `one request from start to end`() throws {
    let metrics = try RequestDriver(registry: registry) {
      ($0.durationBuckets, $0.bodySizeBuckets) = ([0.01, 0.1], [64])
    }
    metrics.requestStarted(request())
    let target =
      #"client="payments",http_request_method="GET",server_address="api.example.com",server_port="443""#
    #expect(registry.value(ofSeries: "http_client_active_requests{\(target)}") == 1)

    metrics.requestEnded(
      RequestObservation(
        request: request(template: "/users/{id}"), start: .now, duration: .milliseconds(20),
        end: .response(statusCode: 200), responseBodySize: 512))
    let labels =
      #"client="payments",http_request_method="GET",http_response_status_code="200","#
      + #"server_address="api.example.com",server_port="443",url_template="/users/{id}""#
    #expect(
      registry.text == """
        # HELP http_client_active_requests Requests that have started and not ended.
        # TYPE http_client_active_requests gauge
        http_client_active_requests{\(target)} 0
        # HELP http_client_oldest_active_request_seconds Age of the oldest request that has started and not ended, 0 without any.
        # TYPE http_client_oldest_active_request_seconds gauge
        http_client_oldest_active_request_seconds{\(target)} 0
        # HELP http_client_redirects_total Redirects that HTTP client requests followed.
        # TYPE http_client_redirects_total counter
        http_client_redirects_total{\(target)} 0
        # HELP http_client_request_duration_seconds Duration of HTTP client requests, from the start to the last byte of the body.
        # TYPE http_client_request_duration_seconds histogram
        http_client_request_duration_seconds_bucket{\(labels),le="0.01"} 0
        http_client_request_duration_seconds_bucket{\(labels),le="0.1"} 1
        http_client_request_duration_seconds_bucket{\(labels),le="+Inf"} 1
        http_client_request_duration_seconds_sum{\(labels)} 0.02
        http_client_request_duration_seconds_count{\(labels)} 1
        # HELP http_client_response_body_size_bytes Size of HTTP client response bodies.
        # TYPE http_client_response_body_size_bytes histogram
        http_client_response_body_size_bytes_bucket{\(labels),le="64.0"} 0
        http_client_response_body_size_bytes_bucket{\(labels),le="+Inf"} 1
        http_client_response_body_size_bytes_sum{\(labels)} 512
        http_client_response_body_size_bytes_count{\(labels)} 1
        # HELP session_tap_cancelled_requests_total Requests that the app cancelled.
        # TYPE session_tap_cancelled_requests_total counter
        session_tap_cancelled_requests_total{client="payments"} 0
        # HELP session_tap_ended_requests_total Requests that have ended: with a response, with an error or by a cancel.
        # TYPE session_tap_ended_requests_total counter
        session_tap_ended_requests_total{client="payments"} 1
        # HELP session_tap_oldest_unstarted_request_seconds For how long the oldest of them has waited, 0 without any.
        # TYPE session_tap_oldest_unstarted_request_seconds gauge
        session_tap_oldest_unstarted_request_seconds 0
        # HELP session_tap_queue_held_seconds For how long the queue of all URLSessions has not run what was put on it, 0 while it does.
        # TYPE session_tap_queue_held_seconds gauge
        session_tap_queue_held_seconds 0
        # HELP session_tap_refused_threads_total Starts of a thread that the system refused, as at a limit of tasks. Each is tried again.
        # TYPE session_tap_refused_threads_total counter
        session_tap_refused_threads_total 0
        # HELP session_tap_series_overflow_total Label sets that found no room in their metric.
        # TYPE session_tap_series_overflow_total counter
        session_tap_series_overflow_total{metric="http_client_active_requests"} 0
        session_tap_series_overflow_total{metric="http_client_connections_opened_total"} 0
        session_tap_series_overflow_total{metric="http_client_network_round_trip_seconds"} 0
        session_tap_series_overflow_total{metric="http_client_oldest_active_request_seconds"} 0
        session_tap_series_overflow_total{metric="http_client_redirects_total"} 0
        session_tap_series_overflow_total{metric="http_client_request_body_size_bytes"} 0
        session_tap_series_overflow_total{metric="http_client_request_duration_seconds"} 0
        session_tap_series_overflow_total{metric="http_client_request_phase_duration_seconds"} 0
        session_tap_series_overflow_total{metric="http_client_response_body_size_bytes"} 0
        session_tap_series_overflow_total{metric="http_client_retransmitted_segments_total"} 0
        session_tap_series_overflow_total{metric="http_client_time_to_first_byte_seconds"} 0
        session_tap_series_overflow_total{metric="session_tap_cancelled_requests_total"} 0
        session_tap_series_overflow_total{metric="session_tap_ended_requests_total"} 0
        session_tap_series_overflow_total{metric="session_tap_started_requests_total"} 0
        # HELP session_tap_started_requests_total Requests that have started.
        # TYPE session_tap_started_requests_total counter
        session_tap_started_requests_total{client="payments"} 1
        # HELP session_tap_unfinished_requests Requests that were active when the tap was shut down, 0 before.
        # TYPE session_tap_unfinished_requests gauge
        session_tap_unfinished_requests 0
        # HELP session_tap_unstarted_requests Requests that URLSession has taken and not started: something holds the queue of all sessions.
        # TYPE session_tap_unstarted_requests gauge
        session_tap_unstarted_requests 0

        """)
  }

  @Test func `an exemplar is of the moment when its request ended`() throws {
    let metrics = try RequestDriver(registry: registry)
    let observation = with(RequestObservation.example) {
      $0.start = Timestamp(nanosecondsSinceEpoch: 1_795_253_399_992_655_789)
    }
    metrics.requestStarted(observation.request)
    metrics.requestEnded(observation)
    #expect(registry.exposition(in: .openMetrics).text.contains("} 0.012345 1795253400.005\n"))
    let protobuf = try #require(ProtobufExposition(registry.exposition(in: .protobuf).body))
    #expect(protobuf.exemplarTimes == [1_795_253_400_005_000_789])
    // Nor has a value that does not count one.
    metrics.record(observation.request) { $0.responseBodySize = -1 }
    #expect(!registry.exposition(in: .openMetrics).text.contains("} -1 "))
  }

  @Test func `phases connections and the version are told where they are known`() throws {
    let metrics = try RequestDriver(registry: registry)
    for opened in [1, 0] {
      metrics.record(request()) {
        ($0.timings[.processing], $0.timings[.transfer]) = (.milliseconds(3), .microseconds(400))
        ($0.protocolVersion, $0.networkRoundTrip) = (.http2, opened == 1 ? .milliseconds(40) : nil)
        ($0.openedConnections, $0.retransmittedSegments) = (opened, opened * 3)
      }
    }
    // Of which no phase is known.
    metrics.record(request()) { $0.openedConnections = 1 }
    let server = #"server_address="api.example.com",server_port="443""#
    func phase(_ name: String) -> Double? {
      registry.value(
        ofSeries:
          "http_client_request_phase_duration_seconds_count{client=\"payments\",phase=\"\(name)\",\(server)}")
    }
    #expect(phase("processing") == 2)
    #expect(phase("transfer") == 2)
    #expect(phase("queue") == nil)
    #expect(
      registry.value(ofSeries: "http_client_network_round_trip_seconds_sum{client=\"payments\",\(server)}")
        == 0.04)
    #expect(
      registry.value(ofSeries: "http_client_network_round_trip_seconds_count{client=\"payments\",\(server)}")
        == 1)
    #expect(
      registry.value(ofSeries: "http_client_retransmitted_segments_total{client=\"payments\",\(server)}") == 3
    )
    #expect(
      registry.value(ofSeries: "http_client_connections_opened_total{client=\"payments\",\(server)}") == 2)
    #expect(
      registry.value(
        ofSeries:
          "http_client_request_duration_seconds_count{client=\"payments\",http_request_method=\"GET\","
          + "http_response_status_code=\"200\",network_protocol_version=\"2\",\(server)}") == 2)
  }

  @Test func `phases are told apart by template`() throws {
    let metrics = try RequestDriver(registry: registry)
    // Twice, since the second request knows the series of the first.
    for template in ["/orders", "/users/{id}", nil, "/orders", "/users/{id}", nil] {
      metrics.record(request(template: template)) {
        ($0.timings[.transfer], $0.timings[.local]) = (.seconds(1), .seconds(2))
      }
    }
    for (phase, sum) in [("transfer", 2.0), ("local", 4)] {
      let labels =
        "client=\"payments\",phase=\"\(phase)\","
        + #"server_address="api.example.com",server_port="443""#
      for template in [#",url_template="/orders""#, #",url_template="/users/{id}""#, ""] {
        let series = "http_client_request_phase_duration_seconds_sum{\(labels)\(template)}"
        #expect(registry.value(ofSeries: series) == sum)
      }
    }
    // Of the connections nothing is known, which is not 0.
    for name in ["http_client_connections_opened_total", "http_client_retransmitted_segments_total"] {
      #expect(!registry.lines.contains { $0.hasPrefix(name) })
    }
  }

  /// Or a rate would miss what the series begins with.
  @Test func `a server whose connections were open already has its series at 0`() throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(request()) { ($0.openedConnections, $0.retransmittedSegments) = (0, 0) }
    let server = #"client="payments",server_address="api.example.com",server_port="443""#
    for name in ["http_client_connections_opened_total", "http_client_retransmitted_segments_total"] {
      #expect(registry.value(ofSeries: "\(name){\(server)}") == 0)
    }
  }

  @Test func `by default every request counts, without a template, in 2,000 series that stay`() {
    let configuration = RequestConfiguration()
    #expect(configuration.filter.isAll && configuration.pathTemplates.isEmpty)
    #expect(configuration.waitingExemptions == [])
    #expect(configuration.series == SeriesConfiguration(limit: 2_000, idleExpiry: nil))
  }

  @Test(
    arguments: [
      (RequestEnd.response(statusCode: 204), #"M,http_response_status_code="204""#),
      (.response(statusCode: 404), #"error_type="404",M,http_response_status_code="404""#),
      (.response(statusCode: 503), #"error_type="503",M,http_response_status_code="503""#),
      (.response(statusCode: 399), #"M,http_response_status_code="399""#),
      (.response(statusCode: 400), #"error_type="400",M,http_response_status_code="400""#),
      (.response(statusCode: 599), #"error_type="599",M,http_response_status_code="599""#),
      (.response(statusCode: 999), #"error_type="999",M,http_response_status_code="999""#),
      (.response(statusCode: 0), "M"), (.response(statusCode: 1_000), "M"),
      (.failure(.timeout, statusCode: nil), #"error_type="timeout",M"#),
      (.failure(.body, statusCode: 200), #"error_type="body",M,http_response_status_code="200""#),
      (.failure(.body, statusCode: 503), #"error_type="body",M,http_response_status_code="503""#),
      (.failure(.other, statusCode: nil), #"error_type="_OTHER",M"#), (.cancelled, "M"),
    ] as [(RequestEnd, String)])
  func `labels tell how a request ended`(how: RequestEnd, labels: String) throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(RequestDescription(client: "", method: "GET"), how)
    let labels = labels.replacing("M", with: #"http_request_method="GET""#)
    #expect(count(of: labels) == 1)
    #expect(registry.value(ofSeries: "session_tap_cancelled_requests_total") == (how == .cancelled ? 1 : 0))
  }

  @Test func `the time to the first byte is there where it is known`() throws {
    let metrics = try RequestDriver(registry: registry) { $0.durationBuckets = [0.012] }
    let request = RequestDescription(client: "c", method: "GET")
    let name = "http_client_time_to_first_byte_seconds"
    let labels = #"client="c",http_request_method="GET",http_response_status_code="200""#
    for time: Duration? in [nil, .milliseconds(5), .milliseconds(-5), .milliseconds(15)] {
      metrics.record(request) { $0.timeToFirstByte = time }
      if time == nil { #expect(!registry.lines.contains { $0.hasPrefix(name) }) }
    }
    #expect(registry.value(ofSeries: name + #"_bucket{\#(labels),le="0.012"}"#) == 2)
    #expect(registry.value(ofSeries: name + "_count{\(labels)}") == 3)
    #expect(registry.value(ofSeries: name + "_sum{\(labels)}") == 0.02)
  }

  @Test func `what comes from the cache has its own series`() throws {
    let metrics = try RequestDriver(registry: registry)
    let request = RequestDescription(client: "c", method: "GET")
    for isFromCache in [true, false, true] {
      metrics.record(request) { ($0.responseBodySize, $0.isFromCache) = (10, isFromCache) }
    }
    let labels = #"client="c",http_request_method="GET",http_response_status_code="200""#
    #expect(count(of: #"cache="hit","# + labels) == 2)
    #expect(count(of: labels) == 1)
    #expect(
      registry.value(ofSeries: "http_client_response_body_size_bytes_sum{cache=\"hit\",\(labels)}") == 20)
  }

  @Test func `redirects are counted by target`() throws {
    let metrics = try RequestDriver(registry: registry) { $0.series.limit = 2 }
    for (host, count) in [("a", 2), ("b", nil), ("c", 1), ("a", 3), ("d", 1), ("a", -1)] {
      metrics.record(request(host: host)) { $0.resendCount = count }
    }
    func redirects(_ host: String) -> Double? {
      registry.value(
        ofSeries:
          #"http_client_redirects_total{client="payments",http_request_method="GET",server_address="\#(host)""#
          + #",server_port="443"}"#)
    }
    #expect(redirects("a") == 5)
    #expect(redirects("b") == 0)
    #expect(registry.value(ofSeries: #"http_client_redirects_total{otel_metric_overflow="true"}"#) == 2)
  }

  @Test(arguments: [
    "", "a\"b", "a\nb", "a\\b", "\u{0}\u{1}\u{7f}\u{85}\u{2028}\u{feff}",
    String(repeating: "ä", count: 1_000),
    String(decoding: [0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80] as [UInt8], as: UTF8.self),
  ])
  func `hostile hosts stay well formed`(host: String) throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(request(client: host, host: host, template: host))
    #expect(String(validating: registry.exposition().body, as: UTF8.self) != nil)
    #expect(registry.lines.allSatisfy { $0.utf8.count < 2_500 })
    let counts = registry.lines.filter { $0.hasPrefix("http_client_request_duration_seconds_count") }
    #expect(counts.contains { $0.hasSuffix(" 1") })
  }
}
