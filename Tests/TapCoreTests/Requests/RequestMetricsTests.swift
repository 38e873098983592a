import TestSupport

@testable import TapCore

/// What requests come to in the exposition.
struct RequestMetricsTests {
  private let registry = Registry()

  private func request(host: String = "api.example.com") -> RequestDescription {
    RequestDescription(
      client: "payments", method: "GET", url: "https://api.example.com/", serverAddress: host,
      serverPort: 443)
  }

  /// The metrics that all that is known of a request comes to, and their samples.
  private func recordWhole(_ direction: RequestDirection) throws -> (metrics: String, samples: String) {
    let metrics = try RequestDriver(registry: registry) {
      ($0.durationBuckets, $0.phaseBuckets, $0.roundTripBuckets, $0.bodySizeBuckets) = ([2], [3], [4], [8])
    }
    let whole = with(RequestObservation.whole(direction, .response(statusCode: 503))) {
      $0.timings = RequestTimings()
      // It took place, in no time.
      $0.timings[.tls] = .zero
      guard direction == .inbound else { return }
      ($0.request.client, $0.request.serverAddress, $0.request.serverPort) = ("", nil, nil)
      $0.isFromCache = false
    }
    metrics.requestStarted(whole.request)
    let side = direction == .inbound ? "server" : "client"
    #expect(registry.value(of: "http_\(side)_active_requests") == 1)
    metrics.requestEnded(whole)
    let known = registry.gather().map(\.descriptor).filter { metric in
      direction == .outbound
        ? !["overflow", "dropped_values"].contains { metric.name.contains($0) }
        : ["http_server", "_inbound_"].contains { metric.name.contains($0) }
    }
    let lines = registry.exposition(in: .openMetrics).text.split(separator: "\n").filter { $0.first != "#" }
    let limited = known.map(\.name).filter {
      $0.hasPrefix("http_") || direction == .outbound && $0.hasSuffix("_requests_total")
    }
    let overflow = lines.filter {
      $0.contains(direction == .outbound ? "overflow" : #"overflow_total{metric="http_server"#)
    }
    #expect(overflow == limited.map { #"session_tap_series_overflow_total{metric="\#($0)"} 0"# })
    let samples = lines.filter { line in
      !line.contains("overflow") && known.contains { line.hasPrefix($0.name) }
    }
    return (
      known.map { "\($0.name) \($0.type) \($0.unit ?? "-") \($0.help)" }.joined(separator: "\n"),
      samples.joined(separator: "\n")
    )
  }

  private static let trace = ##"# {trace_id="0af7651916cd43dd8448eb211c80319c",span_id="b7ad6b7169203331"}"##

  @Test func `all that is known of a request is in its metrics, each with its unit and its buckets`() throws {
    let (metrics, samples) = try recordWhole(.outbound)
    let (server, trace) = (#"server_address="api.example.com",server_port="443""#, Self.trace)
    let target =
      #"client="payments",http_request_method="_OTHER","# + server + #",url_template="/users/{id}""#
    let ended =
      #"cache="hit",client="payments",error_type="503",http_request_method="_OTHER","#
      + #"http_response_status_code="503",network_protocol_version="1.1","# + server
      + #",url_template="/users/{id}""#
    let phase = #"client="payments",phase="tls","# + server + #",url_template="/users/{id}""#
    #expect(
      metrics == """
        http_client_active_requests gauge - Requests that have started and not ended.
        http_client_connections_opened_total counter - Connections that HTTP client requests opened.
        http_client_network_round_trip_seconds histogram seconds Least round trip of the connections of HTTP client requests, read at the end of a request.
        http_client_oldest_active_request_seconds gauge seconds Age of the oldest request that has started and not ended, 0 without any.
        http_client_redirects_total counter - Redirects that HTTP client requests followed.
        http_client_request_body_size_bytes histogram bytes Size of HTTP client request bodies.
        http_client_request_duration_seconds histogram seconds Duration of HTTP client requests, from the start to the last byte of the body.
        http_client_request_phase_duration_seconds histogram seconds Duration of the phases of HTTP client requests, of the last leg after redirects.
        http_client_response_body_size_bytes histogram bytes Size of HTTP client response bodies.
        http_client_retransmitted_segments_total counter - TCP segments that were sent again on the connections of HTTP client requests.
        http_client_time_to_first_byte_seconds histogram seconds Time of HTTP client requests from the start to the first byte of the last response.
        session_tap_cancelled_requests_total counter - Requests that the app cancelled.
        session_tap_ended_requests_total counter - Requests that have ended: with a response, with an error or by a cancel.
        session_tap_oldest_unstarted_request_seconds gauge seconds For how long the oldest of them has waited, 0 without any.
        session_tap_queue_held_seconds gauge seconds For how long the queue of all URLSessions has not run what was put on it, 0 while it does.
        session_tap_refused_threads_total counter - Starts of a thread that the system refused, as at a limit of tasks. Each is tried again.
        session_tap_started_requests_total counter - Requests that have started.
        session_tap_unfinished_requests gauge - Requests that were active when the tap was shut down, 0 before.
        session_tap_unstarted_requests gauge - Requests that URLSession has taken and not started: something holds the queue of all sessions.
        """)
    #expect(
      samples == """
        http_client_active_requests{\(target)} 0
        http_client_connections_opened_total{client="payments",\(server)} 1
        http_client_network_round_trip_seconds_bucket{client="payments",\(server),le="4.0"} 1
        http_client_network_round_trip_seconds_bucket{client="payments",\(server),le="+Inf"} 1
        http_client_network_round_trip_seconds_sum{client="payments",\(server)} 1
        http_client_network_round_trip_seconds_count{client="payments",\(server)} 1
        http_client_oldest_active_request_seconds{\(target)} 0
        http_client_redirects_total{\(target)} 1
        http_client_request_body_size_bytes_bucket{\(ended),le="8.0"} 1 \(trace) 0 1795253400.123
        http_client_request_body_size_bytes_bucket{\(ended),le="+Inf"} 1
        http_client_request_body_size_bytes_sum{\(ended)} 0
        http_client_request_body_size_bytes_count{\(ended)} 1
        http_client_request_duration_seconds_bucket{\(ended),le="2.0"} 1 \(trace) 0.012345 1795253400.123
        http_client_request_duration_seconds_bucket{\(ended),le="+Inf"} 1
        http_client_request_duration_seconds_sum{\(ended)} 0.012345
        http_client_request_duration_seconds_count{\(ended)} 1
        http_client_request_phase_duration_seconds_bucket{\(phase),le="3.0"} 1
        http_client_request_phase_duration_seconds_bucket{\(phase),le="+Inf"} 1
        http_client_request_phase_duration_seconds_sum{\(phase)} 0
        http_client_request_phase_duration_seconds_count{\(phase)} 1
        http_client_response_body_size_bytes_bucket{\(ended),le="8.0"} 0
        http_client_response_body_size_bytes_bucket{\(ended),le="+Inf"} 1 \(trace) 512 1795253400.123
        http_client_response_body_size_bytes_sum{\(ended)} 512
        http_client_response_body_size_bytes_count{\(ended)} 1
        http_client_retransmitted_segments_total{client="payments",\(server)} 1
        http_client_time_to_first_byte_seconds_bucket{\(ended),le="2.0"} 1 \(trace) 1 1795253400.123
        http_client_time_to_first_byte_seconds_bucket{\(ended),le="+Inf"} 1
        http_client_time_to_first_byte_seconds_sum{\(ended)} 1
        http_client_time_to_first_byte_seconds_count{\(ended)} 1
        session_tap_cancelled_requests_total{client="payments"} 0
        session_tap_ended_requests_total{client="payments"} 1
        session_tap_oldest_unstarted_request_seconds 0
        session_tap_queue_held_seconds 0
        session_tap_refused_threads_total 0
        session_tap_started_requests_total{client="payments"} 1
        session_tap_unfinished_requests 0
        session_tap_unstarted_requests 0
        """)
  }

  @Test func `all that is known of a request that is served is in its metrics too`() throws {
    let (metrics, samples) = try recordWhole(.inbound)
    let (route, trace) = (#"http_route="/users/{id}""#, Self.trace)
    let target = #"http_request_method="_OTHER",url_scheme="https""#
    let ended =
      #"error_type="503",http_request_method="_OTHER",http_response_status_code="503","# + route
      + #",network_protocol_version="1.1",url_scheme="https""#
    #expect(
      metrics == """
        http_server_active_requests gauge - Requests that are being served.
        http_server_oldest_active_request_seconds gauge seconds Age of the oldest request that is being served, 0 without any.
        http_server_request_body_size_bytes histogram bytes Size of HTTP server request bodies.
        http_server_request_duration_seconds histogram seconds Duration of HTTP server requests, from their beginning to the end of their response.
        http_server_request_upstream_seconds histogram seconds Time in which at least one request that the app made within an HTTP server request was active.
        http_server_response_body_size_bytes histogram bytes Size of HTTP server response bodies.
        http_server_upstream_request_seconds_total counter seconds Sum of the durations of these requests, more than the time that passed if they were parallel.
        http_server_upstream_requests_total counter - Requests that the app made within HTTP server requests that have ended.
        session_tap_inbound_cancelled_requests_total counter - Inbound requests whose callers went away, or that were let go without an end.
        session_tap_inbound_ended_requests_total counter - Inbound requests that have ended: with a response, with an error or by a cancel.
        session_tap_inbound_started_requests_total counter - Inbound requests that have begun.
        """)
    #expect(
      samples == """
        http_server_active_requests{\(target)} 0
        http_server_oldest_active_request_seconds{\(target)} 0
        http_server_request_body_size_bytes_bucket{\(ended),le="8.0"} 1 \(trace) 0 1795253400.123
        http_server_request_body_size_bytes_bucket{\(ended),le="+Inf"} 1
        http_server_request_body_size_bytes_sum{\(ended)} 0
        http_server_request_body_size_bytes_count{\(ended)} 1
        http_server_request_duration_seconds_bucket{\(ended),le="2.0"} 1 \(trace) 0.012345 1795253400.123
        http_server_request_duration_seconds_bucket{\(ended),le="+Inf"} 1
        http_server_request_duration_seconds_sum{\(ended)} 0.012345
        http_server_request_duration_seconds_count{\(ended)} 1
        http_server_request_upstream_seconds_bucket{\(route),le="2.0"} 1 \(trace) 0.012 1795253400.123
        http_server_request_upstream_seconds_bucket{\(route),le="+Inf"} 1
        http_server_request_upstream_seconds_sum{\(route)} 0.012
        http_server_request_upstream_seconds_count{\(route)} 1
        http_server_response_body_size_bytes_bucket{\(ended),le="8.0"} 0
        http_server_response_body_size_bytes_bucket{\(ended),le="+Inf"} 1 \(trace) 512 1795253400.123
        http_server_response_body_size_bytes_sum{\(ended)} 512
        http_server_response_body_size_bytes_count{\(ended)} 1
        http_server_upstream_request_seconds_total{client="payments",\(route)} 0.014
        http_server_upstream_request_seconds_total{client="stock",\(route)} 0.005
        http_server_upstream_requests_total{client="payments",\(route)} 2
        http_server_upstream_requests_total{client="stock",\(route)} 1
        session_tap_inbound_cancelled_requests_total 0
        session_tap_inbound_ended_requests_total 1
        session_tap_inbound_started_requests_total 1
        """)
    #expect(!registry.lines.contains { $0.hasPrefix("http_client_") || $0.hasPrefix("session_tap_started") })
  }

  @Test func `what is unknown of a request has no series`() throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(request()) { $0.responseBodySize = 512 }
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

  @Test func `what is known of requests counts, and what is not is not 0`() throws {
    let connections = ["connections_opened_total", "retransmitted_segments_total"]
    let firstByte = "time_to_first_byte_seconds"
    let rows: [([@Sendable (inout RequestObservation) -> Void], [String: Double?])] = [
      // Its sum would fall, which Prometheus takes for a restart.
      (
        [{ $0.duration = .seconds(2) }, { $0.duration = .seconds(-1) }],
        ["request_duration_seconds_count": 2, "request_duration_seconds_sum": 2]
      ),
      (
        [
          {
            ($0.openedConnections, $0.retransmittedSegments) = (1, 3)
            $0.networkRoundTrip = .milliseconds(40)
          },
          { ($0.openedConnections, $0.retransmittedSegments) = (0, 0) }, { $0.openedConnections = 1 },
        ],
        [
          "network_round_trip_seconds_sum": 0.04, "network_round_trip_seconds_count": 1, connections[0]: 2,
          connections[1]: 3,
        ]
      ),
      // The connections were open already. A rate would miss what the series begins with.
      (
        [{ ($0.openedConnections, $0.retransmittedSegments) = (0, 0) }],
        [connections[0]: 0, connections[1]: 0]
      ),
      (
        [
          { $0.timeToFirstByte = nil }, { $0.timeToFirstByte = .milliseconds(5) },
          { $0.timeToFirstByte = .milliseconds(-5) }, { $0.timeToFirstByte = .milliseconds(15) },
        ],
        [firstByte + "_count": 3, firstByte + "_sum": 0.02]
      ),
    ]
    for (number, row) in rows.enumerated() {
      let registry = Registry()
      let metrics = try RequestDriver(registry: registry)
      for change in row.0 { metrics.record(request()) { change(&$0) } }
      let values = row.1.map { name, _ in (name, registry.value(of: "http_client_" + name)) }
      #expect(Dictionary(uniqueKeysWithValues: values) == row.1, "row \(number)")
    }
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

  @Test func `what comes from the cache has its own series, and redirects have those of their target`() throws
  {
    let metrics = try RequestDriver(registry: registry) { $0.series.limit = 2 }
    for isFromCache in [true, false, true] {
      metrics.record(request()) { ($0.responseBodySize, $0.isFromCache) = (10, isFromCache) }
    }
    let duration = "http_client_request_duration_seconds_count"
    let counts = ["hit", ""].map { registry.value(of: duration, labels: ["cache": $0]) }
    let size = registry.value(of: "http_client_response_body_size_bytes_sum", labels: ["cache": "hit"])
    #expect(counts == [2, 1] && size == 20)
    let first = "api.example.com"
    for (host, count) in [(first, 2), ("b", nil), ("c", 1), (first, 3), ("d", 1), (first, -1)] {
      metrics.record(request(host: host)) { $0.resendCount = count }
    }
    let labels = [["server_address": first], ["server_address": "b"], ["otel_metric_overflow": "true"]]
    let redirects = labels.map { registry.value(of: "http_client_redirects_total", labels: $0) }
    #expect(redirects == [5, 0, 2])
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
