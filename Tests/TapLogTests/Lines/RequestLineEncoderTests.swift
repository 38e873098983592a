import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct RequestLineEncoderTests {
  private func line(
    of observation: RequestObservation, _ change: (inout RequestLog.Configuration) -> Void = { _ in }
  ) throws -> String {
    try #require(try lines(of: observation, configuration: with(.init(), change)).first)
  }

  /// A line behind its timestamp.
  private func members(_ line: String) -> String { String(line.dropFirst(42)) }

  private func allowHeaders(_ configuration: inout RequestLog.Configuration) {
    configuration.redaction.allowedRequestHeaders = ["accept"]
    configuration.redaction.allowedResponseHeaders = ["server"]
  }

  @Test func `has each value under its name in the order of the contract, and leaves out what is unknown`()
    throws
  {
    var whole = RequestObservation.whole(.outbound, .failure(.timeout, statusCode: 206))
    for (number, phase) in RequestTimings.Phase.allCases.enumerated() {
      whole.timings[phase] = .milliseconds(number + 1)
    }
    (whole.timeToFirstByte, whole.timeToResend) = (.milliseconds(30), .milliseconds(20))
    (whole.networkRoundTrip, whole.retransmittedSegments, whole.resendCount) = (.microseconds(40_700), 2, 3)
    (whole.request.headers, whole.responseHeaders) = (["accept": "a"], ["server": "b"])
    var inbound = RequestObservation.example.with(fields: ["tenant": "acme"])
    (inbound.request.direction, inbound.request.url) = (.inbound, "/users/42?token=s3cret")
    (inbound.request.scheme, inbound.request.urlTemplate) = ("https", "/users/{id}")
    inbound.request.clientAddress = "192.0.2.7"
    inbound.request.serverPort = nil
    inbound.upstream = .example
    // No body has such sizes, and a count of 0 is left out.
    var none = RequestObservation.bare()
    (none.requestBodySize, none.responseBodySize) = (.min, -1)
    (none.resendCount, none.retransmittedSegments) = (0, 0)
    var reused = RequestObservation.bare()
    (reused.isConnectionReused, reused.resendCount) = (true, 20)
    let expected = #"""
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"ERROR","event":"http.client.request",\#
      "client.name":"payments","http.request.method":"_OTHER","http.request.method_original":"BREW",\#
      "url.full":"https://api.example.com/v1/users/42?token=REDACTED","url.template":"/users/{id}",\#
      "server.address":"api.example.com","server.port":443,"http.response.status_code":206,\#
      "error.type":"timeout","duration_s":0.012345,"time_to_first_byte_s":0.03,\#
      "upstream_s":0.012,"own_s":0.000345,"upstream_requests":3,"queue_s":0.001,"resolve_s":0.002,"connect_s":0.003,"tls_s":0.004,"upload_s":0.005,"processing_s":0.006,\#
      "response_s":0.007,"transfer_s":0.008,"local_s":0.009,"cut_off_phase":"processing",\#
      "network.protocol.version":"1.1","network.peer.address":"203.0.113.8",\#
      "connection.reused":false,"network.resent_after_s":0.02,"network.round_trip_s":0.0407,\#
      "network.retransmits":2,"http.request.body.size":0,"http.response.body.size":512,\#
      "http.request.resend_count":3,"from_cache":true,"outcome":"error",\#
      "trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331",\#
      "exception.type":"Shop.Mishap","exception.message":"text","http.request.header.accept":["a"],"http.response.header.server":["b"],\#
      "service.name":"shop"}
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"INFO","event":"http.client.request",\#
      "client.name":"payments","http.request.method":"GET",\#
      "url.full":"https://api.example.com/v1/users/42?token=REDACTED",\#
      "server.address":"api.example.com","server.port":443,"http.response.status_code":200,\#
      "duration_s":0.012345,"http.request.body.size":0,"http.response.body.size":512,"outcome":"ok",\#
      "trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","service.name":"shop"}
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"INFO","event":"http.server.request",\#
      "http.request.method":"GET","url.path":"/users/42","url.scheme":"https","http.route":"/users/{id}",\#
      "client.address":"192.0.2.7","http.response.status_code":200,"duration_s":0.012345,\#
      "upstream_s":0.012,"own_s":0.000345,"upstream_requests":3,\#
      "http.request.body.size":0,"http.response.body.size":512,"outcome":"ok",\#
      "trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331",\#
      "service.name":"shop","tenant":"acme"}
      {"timestamp":"1970-01-01T00:00:00.000000Z","severity":"INFO","event":"http.client.request",\#
      "client.name":"c","http.request.method":"GET","http.response.status_code":200,"duration_s":0,\#
      "outcome":"ok","service.name":"shop"}
      {"timestamp":"1970-01-01T00:00:00.000000Z","severity":"INFO","event":"http.client.request",\#
      "client.name":"c","http.request.method":"GET","http.response.status_code":200,"duration_s":0,\#
      "connection.reused":true,"http.request.resend_count":20,"outcome":"ok","service.name":"shop"}
      """#
    let written = try [whole, .example, inbound, none, reused].map { observation in
      try line(of: observation) {
        allowHeaders(&$0)
        $0.fields = ["service.name": "shop"]
      }
    }
    expectEqual(written, expected.components(separatedBy: "\n"))
  }

  /// A 4xx of a request that was served is its caller's error.
  @Test func `tells how much the end of a request matters`() {
    let rows: [(end: RequestEnd, outbound: LogSeverity, inbound: LogSeverity)] = [
      (.response(statusCode: 204), .info, .info), (.response(statusCode: nil), .info, .info),
      (.response(statusCode: 404), .warn, .info), (.response(statusCode: 499), .warn, .info),
      (.response(statusCode: 500), .error, .error), (.failure(.dns, statusCode: nil), .error, .error),
      (.failure(.body, statusCode: 200), .error, .error), (.cancelled, .info, .info),
    ]
    let found = RequestDirection.allCases.map { direction in
      rows.map { row in with(RequestObservation.bare(row.end)) { $0.request.direction = direction }.severity }
    }
    #expect(found == [rows.map(\.outbound), rows.map(\.inbound)])
  }

  @Test func `of one that has not ended is a warning, and says how far it has come`() throws {
    let (sink, log) = try RequestLog.collecting { configuration in
      allowHeaders(&configuration)
      configuration.fields = ["service.name": "shop"]
      configuration.redaction.custom = { _, text in text.replacing("secret", with: "shown") }
      configuration.sampling.rate = 0
    }
    var outbound = RequestObservation.example.request
    (outbound.urlTemplate, outbound.fields) = ("/v1/users/{id}", ["attempt": 2, "note": "secret"])
    outbound.headers = ["Accept": "text/plain", "Authorization": "Basic s3cret"]
    log.requestWaits(RequestSnapshot(outbound, for: .milliseconds(60_500)))
    // The keys of both directions are taken.
    var inbound = RequestDescription(direction: .inbound, client: "c", method: "GET", url: "/a")
    inbound.fields = ["waiting_for": "godot", "idle_s": 1, "url.full": 1, "url.path": 1]
    var progress = RequestProgress(
      wait: .client, statusCode: 200, lastActivity: Instant(nanoseconds: 1_000_000_000))
    (progress.requestBodySize, progress.responseBodySize) = (5, 0)
    let snapshot = with(
      RequestSnapshot(inbound, for: .seconds(9), progress, at: Instant(nanoseconds: 3_500_000_000))
    ) { $0.upstream = .example }
    log.requestWaits(snapshot)
    log.requestIsUnfinished(snapshot)
    log.requestIsUnfinished(RequestSnapshot(RequestDescription(client: "c", method: "GET"), for: .zero))
    #expect(log.shutdown() && log.statistics.lines(.warn) == 4)
    let served = #"""
      "http.request.method":"GET","url.path":"/a","http.response.status_code":200,"duration_s":9,\#
      "upstream_s":0.012,"own_s":8.988,"upstream_requests":3,"waiting_for":"client","idle_s":2.5,"http.request.body.size":5,"http.response.body.size":0,\#
      "service.name":"shop","dropped_attributes_count":4}
      """#
    let expected = #"""
      ,"severity":"WARN","event":"http.client.request.waiting","client.name":"payments",\#
      "http.request.method":"GET","url.full":"https://api.example.com/v1/users/42?token=REDACTED",\#
      "url.template":"/v1/users/{id}","server.address":"api.example.com","server.port":443,\#
      "duration_s":60.5,"waiting_for":"response","trace_id":"0af7651916cd43dd8448eb211c80319c",\#
      "span_id":"b7ad6b7169203331","http.request.header.accept":["text/plain"],"service.name":"shop",\#
      "attempt":2,"note":"shown"}
      ,"severity":"WARN","event":"http.server.request.waiting",\#(served)
      ,"severity":"WARN","event":"http.server.request.unfinished",\#(served)
      ,"severity":"WARN","event":"http.client.request.unfinished","client.name":"c",\#
      "http.request.method":"GET","duration_s":0,"waiting_for":"response","service.name":"shop"}
      """#
    expectEqual(sink.lines.map(members), expected.components(separatedBy: "\n"))
  }

  @Test func `of the tap's own says what it means, and is not sampled`() throws {
    let (sink, log) = try RequestLog.collecting { $0.sampling.rate = 0 }
    for lacksThreads in [false, true] {
      log.queueIsHeld(HeldQueue(duration: .seconds(6), lacksThreads: lacksThreads), unstarted: 3)
    }
    log.requestsAreUnfinished(7)
    log.log(.trace, "of the app")
    #expect(log.shutdown())
    let expected = #"""
      ,"severity":"WARN","event":"session_tap.queue.held","requests":3,"duration_s":6,"message":"\#
      no URLSession starts or ends a request: something holds the one queue of all sessions, such as a \#
      protocol class or a body stream that does not return, or a cancelled task that waits for a lock"}
      ,"severity":"WARN","event":"session_tap.queue.held","requests":3,"duration_s":6,"message":"\#
      no URLSession starts or ends a request: Dispatch has no thread left for any queue, because blocks \#
      that do not return have all of them"}
      ,"severity":"WARN","event":"session_tap.requests.unfinished","requests":7,"message":"\#
      requests more are unfinished than have a line of their own"}
      ,"severity":"TRACE","event":"app","message":"of the app"}
      """#
    expectEqual(sink.lines.map(members), expected.components(separatedBy: "\n"))
  }

  @Test func `has the time of now where nothing has ended`() throws {
    func text(_ time: Timestamp) -> String {
      String(decoding: LineWriter.bytes(capacity: 32) { $0.timestamp(time) }, as: UTF8.self)
    }
    let (sink, log) = try RequestLog.collecting()
    let waiting = RequestSnapshot(RequestDescription(client: "c", method: "GET"), for: .seconds(60))
    let before = text(.now)
    log.requestWaits(waiting)
    log.requestIsUnfinished(waiting)
    log.requestsAreUnfinished(1)
    log.queueIsHeld(HeldQueue(duration: .seconds(6)), unstarted: 1)
    log.log(.info, "message")
    let listed = String(decoding: log.lines(of: [waiting], byteLimit: .max), as: UTF8.self)
    let after = text(.now)
    #expect(log.shutdown())
    let times = (sink.lines + [listed]).map { String($0.dropFirst(14).prefix(27)) }
    #expect(times.count == 6 && times.allSatisfy { before <= $0 && $0 <= after })
  }

  @Test func `of those that wait now are the first that have room`() throws {
    let requests = ["a", String(repeating: "b", count: 1_000), "c"].map { path in
      RequestSnapshot(
        RequestDescription(client: "c", method: "GET", url: "https://host/\(path)"), for: .seconds(60))
    }
    let log = try RequestLog(to: .memory)
    func count(_ limit: Int) -> Int {
      log.lines(of: requests, byteLimit: limit).count { $0 == UInt8(ascii: "\n") }
    }
    let ends = (1...3).map { log.lines(of: Array(requests.prefix($0)), byteLimit: .max).count }
    let counts = [0, ends[0] - 1, ends[0], ends[1] - 1, ends[1], ends[2]].map(count)
    #expect(counts == [0, 0, 1, 1, 2, 3])
    #expect(log.shutdown())
  }

  @Test func `has of each text as much as the limit of its kind allows`() throws {
    let long = String(repeating: "x", count: 9_000)
    var one = RequestObservation.whole(.outbound, .failure(.timeout, statusCode: nil))
    (one.request.client, one.request.method, one.request.url) = (long, long, "https://a/" + long)
    (one.request.urlTemplate, one.request.serverAddress) = (long, long)
    (one.peerAddress, one.errorMessage, one.exceptionType) = (long, long, long)
    (one.request.headers, one.responseHeaders) = (["accept": long], ["server": long])
    one.request.fields = ["note": .string(long)]
    let object = try jsonObject(
      line(of: one) {
        allowHeaders(&$0)
        $0.fields = ["zone": .string(long)]
      })
    var lengths: [String: Int] = [:]
    for (key, value) in object {
      let text = value as? String ?? (value as? [String])?.first ?? ""
      if text.hasSuffix("…") { lengths[key] = text.utf8.count - 3 }
    }
    let expected = [
      "client.name": 256, "http.request.method_original": 64, "url.full": 2_048, "url.template": 256,
      "server.address": 256, "network.peer.address": 256, "exception.message": 256,
      "exception.type": 256,
      "http.request.header.accept": 1_024, "http.response.header.server": 1_024, "note": 1_024,
      "zone": 1_024,
    ]
    #expect(lengths == expected)
    // Also of what the app's own rule makes of a URL.
    let (sink, log) = try RequestLog.collecting { $0.redaction.custom = { $1 } }
    log.requestEnded(one)
    log.log(.info, long)
    #expect(log.shutdown())
    try #require(sink.lines.count == 2)
    #expect(sink.lines[0].contains("\"url.full\":\"https://a/\(long.prefix(2_038))…\""))
    #expect(sink.lines[1].hasSuffix("\"message\":\"\(long.prefix(8_192))…\"}"))
  }

  @Test(arguments: RequestDirection.allCases)
  func `stays one valid JSON object, whatever comes in`(direction: RequestDirection) throws {
    let hostile = String(
      decoding: (0...255).map { UInt8($0) } + [0xE2, 0x80, 0xA8, 0xC2, 0x85], as: UTF8.self)
    let long = String(repeating: hostile, count: 200)
    let url = direction == .inbound ? "url.path" : "url.full"
    var fields: [String: FieldValue] = [
      "nan": .double(.nan), "least": .integer(.min), "huge": 1e300, url: "forged",
    ]
    for index in 0..<200 { fields["\(index)\(hostile.prefix(60))"] = .string(long) }
    let observation = RequestObservation(
      request: RequestDescription(
        direction: direction, client: long, method: long, url: "/" + long, serverAddress: long,
        serverPort: .min, urlTemplate: long, scheme: long, clientAddress: long, traceContext: .random(),
        fields: fields), start: Timestamp(nanosecondsSinceEpoch: .max), duration: .seconds(Int64.max),
      end: .failure(.other, statusCode: .max), requestBodySize: .min, responseBodySize: .max)
    let line = try line(of: observation)
    #expect(line.utf8.count <= 16_384)
    #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    let object = try jsonObject(line)
    #expect(object["dropped_attributes_count"] as? Int ?? 0 > 100)
    #expect(object["outcome"] as? String == "error" && object[url] as? String != "forged")
  }
}
