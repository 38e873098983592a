import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct WholeLineTests {
  private var shownHeaders: RequestLog.Configuration {
    with(RequestLog.Configuration()) {
      $0.redaction.allowedRequestHeaders = ["accept"]
      $0.redaction.allowedResponseHeaders = ["server"]
    }
  }

  @Test func `has each value under its name, where all of them are known`() throws {
    var whole = RequestObservation.whole(.outbound, .failure(.timeout, statusCode: 206))
    for (number, phase) in RequestTimings.Phase.allCases.enumerated() {
      whole.timings[phase] = .milliseconds(number + 1)
    }
    (whole.timeToFirstByte, whole.timeToResend) = (.milliseconds(30), .milliseconds(20))
    (whole.networkRoundTrip, whole.retransmittedSegments, whole.resendCount) = (.milliseconds(40), 2, 3)
    (whole.request.headers, whole.responseHeaders) = (["accept": "a"], ["server": "b"])
    let expected =
      #"{"timestamp":"2026-11-21T09:30:00.123456Z","severity":"ERROR","event":"http.client.request","#
      + #""client.name":"payments","http.request.method":"_OTHER","http.request.method_original":"BREW","#
      + #""url.full":"https://api.example.com/v1/users/42?token=REDACTED","url.template":"/users/{id}","#
      + #""server.address":"api.example.com","server.port":443,"http.response.status_code":206,"#
      + #""error.type":"timeout","duration_s":0.012345,"time_to_first_byte_s":0.03,"queue_s":0.001,"#
      + #""resolve_s":0.002,"connect_s":0.003,"tls_s":0.004,"upload_s":0.005,"processing_s":0.006,"#
      + #""response_s":0.007,"transfer_s":0.008,"local_s":0.009,"cut_off_phase":"processing","#
      + #""network.protocol.version":"1.1","network.peer.address":"203.0.113.8","#
      + #""connection.reused":false,"network.resent_after_s":0.02,"network.round_trip_s":0.04,"#
      + #""network.retransmits":2,"http.request.body.size":0,"http.response.body.size":512,"#
      + #""http.request.resend_count":3,"from_cache":true,"outcome":"error","#
      + #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","#
      + #""error.message":"text","http.request.header.accept":["a"],"http.response.header.server":["b"]}"#
    #expect(try lines(of: whole, configuration: shownHeaders) == [expected])
  }

  @Test func `has of each text as much as the limit of its kind allows`() throws {
    let long = String(repeating: "x", count: 9_000)
    var one = RequestObservation.whole(.outbound, .failure(.timeout, statusCode: nil))
    (one.request.client, one.request.method, one.request.url) = (long, long, "https://a/" + long)
    (one.request.urlTemplate, one.request.serverAddress) = (long, long)
    (one.peerAddress, one.errorMessage) = (long, long)
    (one.request.headers, one.responseHeaders) = (["accept": long], ["server": long])
    one.request.fields = ["note": .string(long)]
    let configuration = with(shownHeaders) { $0.fields = ["zone": .string(long)] }
    let line = try #require(try lines(of: one, configuration: configuration).first)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    var lengths: [String: Int] = [:]
    for (key, value) in object {
      let text = value as? String ?? (value as? [String])?.first ?? ""
      if text.hasSuffix("…") { lengths[key] = text.utf8.count - 3 }
    }
    let expected = [
      "client.name": 256, "http.request.method_original": 64, "url.full": 2_048, "url.template": 256,
      "server.address": 256, "network.peer.address": 256, "error.message": 256,
      "http.request.header.accept": 1_024, "http.response.header.server": 1_024, "note": 1_024,
      "zone": 1_024,
    ]
    #expect(lengths == expected)
    let (sink, log) = try RequestLog.collecting()
    log.log(.info, long)
    #expect(log.shutdown())
    #expect(sink.lines.first?.hasSuffix("\"message\":\"\(long.prefix(8_192))…\"}") == true)
  }

  @Test(arguments: [(100, 100), (0, 0), (-1, 0), (100_000, 8_192)])
  func `has as many bytes of a URL as are set, 8,192 at most`(limit: Int, expected: Int) throws {
    var configuration = with(RequestLog.Configuration()) { $0.urlLengthLimit = limit }
    let url = "https://host/" + String(repeating: "x", count: 10_000)
    let part = "\"url.full\":\"\(url.prefix(expected))…\""
    for _ in 0..<2 {
      #expect(try lines(of: .bare().with(url: url), configuration: configuration)[0].contains(part))
      // And of what the app's own rule makes of it.
      configuration.redaction.custom = { $1 }
    }
  }

  @Test func `has a field whose key has 256 bytes, and none with a longer one`() throws {
    let keys = (256...257).map { String(repeating: "k", count: $0) }
    let own = try lines(of: .bare().with(fields: [keys[0]: 1, keys[1]: 2]))
    #expect(own[0].hasSuffix("\"outcome\":\"ok\",\"\(keys[0])\":1,\"dropped_attributes_count\":1}"))
    var configuration = RequestLog.Configuration()
    for number in 1...63 { configuration.fields["\(number)"] = 1 }
    configuration.fields[keys[0]] = 2
    let shared = try lines(of: .bare(), configuration: configuration)
    #expect(shared[0].hasSuffix(",\"9\":1,\"\(keys[0])\":2}"))
  }

  @Test func `has a field of every line as a whole, though each of its bytes is escaped`() throws {
    let key = String(repeating: "\u{1}", count: 256)
    let configuration = with(RequestLog.Configuration()) {
      $0.fields = [key: .string(String(repeating: "\u{2}", count: 1_025))]
    }
    let line = try lines(of: .bare(), configuration: configuration)[0]
    let name = String(repeating: "\\u0001", count: 256)
    let text = String(repeating: "\\u0002", count: 1_024)
    #expect(line.hasSuffix("\"outcome\":\"ok\",\"\(name)\":\"\(text)…\"}"))
  }

  @Test func `has no field of every line that would hide one of its own`() throws {
    let configuration = with(RequestLog.Configuration()) { $0.fields = ["client": 1] }
    let error = #expect(throws: RequestLogError.self) {
      _ = try RequestLog(to: .memory, configuration: configuration)
    }
    #expect(error?.code == .reservedField)
    #expect(
      error?.description == "the log field \"client\" cannot be set: lines have it by themselves, "
        + "or it and such a key begin with each other; choose another key")
  }

  @Test func `says of the tap's own warnings what they mean`() throws {
    let (sink, log) = try RequestLog.collecting()
    log.queueIsHeld(3, for: .seconds(6))
    log.requestsAreUnfinished(7)
    #expect(log.shutdown())
    let held =
      #","severity":"WARN","event":"session_tap.queue.held","requests":3,"duration_s":6,"message":""#
      + "no URLSession starts or ends a request: something holds the one queue of all sessions, such as a "
      + "protocol class or a body stream that does not return, or a cancelled task that waits for a lock\"}"
    let unfinished =
      #","severity":"WARN","event":"session_tap.requests.unfinished","requests":7,"message":""#
      + "requests more are unfinished than have a line of their own\"}"
    // Behind the timestamp.
    #expect(sink.lines.map { String($0.dropFirst(42)) } == [held, unfinished])
  }

  @Test func `has the time of its end, or that of now where nothing has ended`() throws {
    func now() -> String {
      String(decoding: LineWriter.bytes(capacity: 32) { $0.timestamp(.now) }, as: UTF8.self)
    }
    let (sink, log) = try RequestLog.collecting()
    let waiting = RequestSnapshot(RequestDescription(client: "c", method: "GET"), for: .seconds(60))
    let before = now()
    log.requestWaits(waiting)
    log.requestIsUnfinished(waiting)
    log.requestsAreUnfinished(1)
    log.queueIsHeld(1, for: .seconds(6))
    log.log(.info, "message")
    let after = now()
    #expect(log.shutdown())
    #expect(sink.lines.count == 5)
    for line in sink.lines {
      let time = String(line.dropFirst(14).prefix(27))
      #expect(before <= time && time <= after)
    }
  }

  @Test func `of those that wait now are the first that have room, with the time of now`() throws {
    func text(_ time: Timestamp) -> String {
      String(decoding: LineWriter.bytes(capacity: 32) { $0.timestamp(time) }, as: UTF8.self)
    }
    let requests = ["a", String(repeating: "b", count: 1_000), "c"].map { path in
      RequestSnapshot(
        RequestDescription(client: "c", method: "GET", url: "https://host/\(path)"), for: .seconds(60),
        RequestProgress())
    }
    let log = try RequestLog(to: .memory)
    let before = text(.now)
    let all = log.lines(of: requests, byteLimit: .max)
    let after = text(.now)
    let lines = String(decoding: all, as: UTF8.self).split(separator: "\n")
    try #require(lines.count == 3)
    for line in lines {
      let time = String(line.dropFirst(14).prefix(27))
      #expect(before <= time && time <= after)
    }
    let (first, second) = (lines[0].utf8.count + 1, lines[1].utf8.count + 1)
    for (limit, count) in [
      (0, 0), (first - 1, 0), (first, 1), (first + second - 1, 1), (first + second, 2), (all.count, 3),
    ] {
      let part = log.lines(of: requests, byteLimit: limit)
      #expect(part.count { $0 == UInt8(ascii: "\n") } == count, "\(limit)")
    }
    #expect(log.shutdown())
  }
}
