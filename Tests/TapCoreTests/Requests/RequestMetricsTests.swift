import TestSupport

/// What requests come to in the exposition.
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

  @Test func `all that is known of a request is in its metrics, each with its unit and its buckets`() throws {
    let metrics = try RequestDriver(registry: registry) {
      ($0.durationBuckets, $0.phaseBuckets, $0.roundTripBuckets, $0.bodySizeBuckets) = ([2], [3], [4], [8])
    }
    let whole = with(RequestObservation.whole(.outbound, .response(statusCode: 503))) {
      $0.timings = RequestTimings()
      // It took place, in no time.
      $0.timings[.tls] = .zero
    }
    metrics.record(whole.request, whole.end) { $0 = whole }
    let server = #"server_address="api.example.com",server_port="443""#
    let target = #"client="payments",http_request_method="_OTHER","# + server
    let ended =
      #"cache="hit",client="payments",error_type="503",http_request_method="_OTHER","#
      + #"http_response_status_code="503",network_protocol_version="1.1","# + server
      + #",url_template="/users/{id}""#
    let phase = #"client="payments",phase="tls","# + server + #",url_template="/users/{id}""#
    let trace = ##"# {trace_id="0af7651916cd43dd8448eb211c80319c",span_id="b7ad6b7169203331"}"##
    #expect(
      registry.exposition(in: .openMetrics).text == """
        # TYPE http_client_active_requests gauge
        # HELP http_client_active_requests Requests that have started and not ended.
        http_client_active_requests{\(target)} 0
        # TYPE http_client_connections_opened counter
        # HELP http_client_connections_opened Connections that HTTP client requests opened.
        http_client_connections_opened_total{client="payments",\(server)} 1
        # TYPE http_client_network_round_trip_seconds histogram
        # UNIT http_client_network_round_trip_seconds seconds
        # HELP http_client_network_round_trip_seconds Least round trip of the connections of HTTP client requests, read at the end of a request.
        http_client_network_round_trip_seconds_bucket{client="payments",\(server),le="4.0"} 1
        http_client_network_round_trip_seconds_bucket{client="payments",\(server),le="+Inf"} 1
        http_client_network_round_trip_seconds_sum{client="payments",\(server)} 1
        http_client_network_round_trip_seconds_count{client="payments",\(server)} 1
        # TYPE http_client_oldest_active_request_seconds gauge
        # UNIT http_client_oldest_active_request_seconds seconds
        # HELP http_client_oldest_active_request_seconds Age of the oldest request that has started and not ended, 0 without any.
        http_client_oldest_active_request_seconds{\(target)} 0
        # TYPE http_client_redirects counter
        # HELP http_client_redirects Redirects that HTTP client requests followed.
        http_client_redirects_total{\(target)} 1
        # TYPE http_client_request_body_size_bytes histogram
        # UNIT http_client_request_body_size_bytes bytes
        # HELP http_client_request_body_size_bytes Size of HTTP client request bodies.
        http_client_request_body_size_bytes_bucket{\(ended),le="8.0"} 1 \(trace) 0 1795253400.123
        http_client_request_body_size_bytes_bucket{\(ended),le="+Inf"} 1
        http_client_request_body_size_bytes_sum{\(ended)} 0
        http_client_request_body_size_bytes_count{\(ended)} 1
        # TYPE http_client_request_duration_seconds histogram
        # UNIT http_client_request_duration_seconds seconds
        # HELP http_client_request_duration_seconds Duration of HTTP client requests, from the start to the last byte of the body.
        http_client_request_duration_seconds_bucket{\(ended),le="2.0"} 1 \(trace) 0.012345 1795253400.123
        http_client_request_duration_seconds_bucket{\(ended),le="+Inf"} 1
        http_client_request_duration_seconds_sum{\(ended)} 0.012345
        http_client_request_duration_seconds_count{\(ended)} 1
        # TYPE http_client_request_phase_duration_seconds histogram
        # UNIT http_client_request_phase_duration_seconds seconds
        # HELP http_client_request_phase_duration_seconds Duration of the phases of HTTP client requests, of the last leg after redirects.
        http_client_request_phase_duration_seconds_bucket{\(phase),le="3.0"} 1
        http_client_request_phase_duration_seconds_bucket{\(phase),le="+Inf"} 1
        http_client_request_phase_duration_seconds_sum{\(phase)} 0
        http_client_request_phase_duration_seconds_count{\(phase)} 1
        # TYPE http_client_response_body_size_bytes histogram
        # UNIT http_client_response_body_size_bytes bytes
        # HELP http_client_response_body_size_bytes Size of HTTP client response bodies.
        http_client_response_body_size_bytes_bucket{\(ended),le="8.0"} 0
        http_client_response_body_size_bytes_bucket{\(ended),le="+Inf"} 1 \(trace) 512 1795253400.123
        http_client_response_body_size_bytes_sum{\(ended)} 512
        http_client_response_body_size_bytes_count{\(ended)} 1
        # TYPE http_client_retransmitted_segments counter
        # HELP http_client_retransmitted_segments TCP segments that were sent again on the connections of HTTP client requests.
        http_client_retransmitted_segments_total{client="payments",\(server)} 1
        # TYPE http_client_time_to_first_byte_seconds histogram
        # UNIT http_client_time_to_first_byte_seconds seconds
        # HELP http_client_time_to_first_byte_seconds Time of HTTP client requests from the start to the head of the response.
        http_client_time_to_first_byte_seconds_bucket{\(ended),le="2.0"} 1 \(trace) 1 1795253400.123
        http_client_time_to_first_byte_seconds_bucket{\(ended),le="+Inf"} 1
        http_client_time_to_first_byte_seconds_sum{\(ended)} 1
        http_client_time_to_first_byte_seconds_count{\(ended)} 1
        # TYPE session_tap_cancelled_requests counter
        # HELP session_tap_cancelled_requests Requests that the app cancelled.
        session_tap_cancelled_requests_total{client="payments"} 0
        # TYPE session_tap_ended_requests counter
        # HELP session_tap_ended_requests Requests that have ended: with a response, with an error or by a cancel.
        session_tap_ended_requests_total{client="payments"} 1
        # TYPE session_tap_oldest_unstarted_request_seconds gauge
        # UNIT session_tap_oldest_unstarted_request_seconds seconds
        # HELP session_tap_oldest_unstarted_request_seconds For how long the oldest of them has waited, 0 without any.
        session_tap_oldest_unstarted_request_seconds 0
        # TYPE session_tap_queue_held_seconds gauge
        # UNIT session_tap_queue_held_seconds seconds
        # HELP session_tap_queue_held_seconds For how long the queue of all URLSessions has not run what was put on it, 0 while it does.
        session_tap_queue_held_seconds 0
        # TYPE session_tap_refused_threads counter
        # HELP session_tap_refused_threads Starts of a thread that the system refused, as at a limit of tasks. Each is tried again.
        session_tap_refused_threads_total 0
        # TYPE session_tap_series_overflow counter
        # HELP session_tap_series_overflow Look-ups of label sets that found no room in their metric.
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
        # TYPE session_tap_started_requests counter
        # HELP session_tap_started_requests Requests that have started.
        session_tap_started_requests_total{client="payments"} 1
        # TYPE session_tap_unfinished_requests gauge
        # HELP session_tap_unfinished_requests Requests that were active when the tap was shut down, 0 before.
        session_tap_unfinished_requests 0
        # TYPE session_tap_unstarted_requests gauge
        # HELP session_tap_unstarted_requests Requests that URLSession has taken and not started: something holds the queue of all sessions.
        session_tap_unstarted_requests 0
        # EOF

        """)
  }

  @Test func `a request is active from its start to its end, and what is unknown of it has no series`() throws
  {
    let metrics = try RequestDriver(registry: registry)
    metrics.requestStarted(request())
    let target =
      #"{client="payments",http_request_method="GET",server_address="api.example.com",server_port="443"}"#
    #expect(registry.value(ofSeries: "http_client_active_requests\(target)") == 1)
    metrics.requestEnded(
      RequestObservation(
        request: request(), start: .now, duration: .milliseconds(20), end: .response(statusCode: 200),
        responseBodySize: 512))
    #expect(registry.value(ofSeries: "http_client_active_requests\(target)") == 0)
    let names = registry.lines.filter { $0.hasPrefix("# TYPE http_client") }.map {
      $0.split(separator: " ")[2]
    }
    #expect(
      names == [
        "http_client_active_requests", "http_client_oldest_active_request_seconds",
        "http_client_redirects_total", "http_client_request_duration_seconds",
        "http_client_response_body_size_bytes",
      ])
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

  @Test func `connections and round trips are counted where they are known`() throws {
    let metrics = try RequestDriver(registry: registry)
    for opened in [1, 0] {
      metrics.record(request()) {
        $0.networkRoundTrip = opened == 1 ? .milliseconds(40) : nil
        ($0.openedConnections, $0.retransmittedSegments) = (opened, opened * 3)
      }
    }
    // Of which no phase is known.
    metrics.record(request()) { $0.openedConnections = 1 }
    let server = #"{client="payments",server_address="api.example.com",server_port="443"}"#
    let values = [
      "network_round_trip_seconds_sum", "network_round_trip_seconds_count", "retransmitted_segments_total",
      "connections_opened_total",
    ].map { registry.value(ofSeries: "http_client_" + $0 + server) }
    #expect(values == [0.04, 1, 3, 2])
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
    #expect(configuration.filter == nil && configuration.pathTemplates.isEmpty)
    #expect(configuration.waitingExemptions == [])
    #expect(configuration.series == SeriesConfiguration(limit: 2_000, idleExpiry: nil))
  }

  @Test func `labels and the outcome tell how a request ended, and 4xx is the caller's error`() throws {
    // The type of the error, the status code, the outcome: of a request that the app makes, and serves.
    let rows: [(RequestEnd, made: String, served: String)] = [
      (.response(statusCode: 100), "- 100 ok", "- 100 ok"),
      (.response(statusCode: 204), "- 204 ok", "- 204 ok"),
      (.response(statusCode: 399), "- 399 ok", "- 399 ok"),
      (.response(statusCode: 400), "400 400 http_error", "- 400 ok"),
      (.response(statusCode: 499), "499 499 http_error", "- 499 ok"),
      (.response(statusCode: 500), "500 500 http_error", "500 500 http_error"),
      (.response(statusCode: 999), "999 999 http_error", "999 999 http_error"),
      (.response(statusCode: nil), "- - ok", "- - ok"), (.response(statusCode: 99), "- - ok", "- - ok"),
      (.response(statusCode: 0), "- - ok", "- - ok"), (.response(statusCode: -500), "- - ok", "- - ok"),
      (.response(statusCode: 1_000), "- - ok", "- - ok"), (.response(statusCode: .max), "- - ok", "- - ok"),
      (.failure(.timeout, statusCode: nil), "timeout - error", "timeout - error"),
      (.failure(.body, statusCode: 200), "body 200 error", "body 200 error"),
      (.failure(.body, statusCode: 503), "body 503 error", "body 503 error"),
      (.failure(.other, statusCode: 1_000), "_OTHER - error", "_OTHER - error"),
      (.cancelled, "- - cancelled", "- - cancelled"),
    ]
    func found(_ direction: RequestDirection, _ end: RequestEnd) throws -> String {
      let (registry, observer) = (Registry(), RecordingObserver())
      let driver = try RequestDriver(registry: registry, consumers: [observer])
      driver.record(RequestDescription(direction: direction, client: "", method: "GET"), end)
      let name = "http_\(direction == .inbound ? "server" : "client")_request_duration_seconds_count{"
      let line = registry.lines.first { $0.hasPrefix(name) } ?? ""
      func label(_ key: String) -> Substring {
        line.firstRange(of: "\(key)=\"").map { line[$0.upperBound...].prefix { $0 != "\"" } } ?? "-"
      }
      let cancelled = registry.value(
        of: "session_tap_\(direction == .inbound ? "inbound_" : "")cancelled_requests_total")
      let outcome = observer.ended.first?.outcome.rawValue ?? ""
      #expect(cancelled == (outcome == "cancelled" ? 1 : 0) && line.contains("method=\"GET\""))
      return "\(label("error_type")) \(label("http_response_status_code")) \(outcome)"
    }
    #expect(try rows.map { try found(.outbound, $0.0) } == rows.map(\.made))
    #expect(try rows.map { try found(.inbound, $0.0) } == rows.map(\.served))
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

  @Test(arguments: ["http_client_active_requests", "http_server_active_requests"])
  func `the app's own metrics have other names`(name: String) throws {
    let driver = try RequestDriver(registry: registry)
    #expect(throws: RegistryError.self) { try registry.gauge(name, help: "") }
    withExtendedLifetime(driver) {}
  }

  @Test func `buckets that are none are refused with the name of their metric`() {
    func refused(_ change: (inout RequestConfiguration) -> Void) -> String? {
      do throws(RegistryError) {
        _ = try RequestDriver(registry: Registry(), change)
        return nil
      } catch {
        return error.metric
      }
    }
    #expect(refused { $0.durationBuckets = [2, 1] } == "http_client_request_duration_seconds")
    #expect(refused { $0.bodySizeBuckets = [] } == "http_client_request_body_size_bytes")
    #expect(refused { $0.phaseBuckets = [.nan] } == "http_client_request_phase_duration_seconds")
    #expect(refused { $0.roundTripBuckets = [1, 1] } == "http_client_network_round_trip_seconds")
  }
}
