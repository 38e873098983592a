import TestSupport

/// The families of requests, each as a whole.
struct WholeRequestMetricsTests {
  private let registry = Registry()

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
    let lines = registry.exposition(in: .openMetrics).text.split(separator: "\n")
      .filter { $0.hasPrefix("http_client_") || $0.contains(" http_client_") || $0.hasPrefix("# UNIT ") }
    #expect(
      lines.joined(separator: "\n") == """
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
        # UNIT session_tap_oldest_unstarted_request_seconds seconds
        # UNIT session_tap_queue_held_seconds seconds
        """)
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
