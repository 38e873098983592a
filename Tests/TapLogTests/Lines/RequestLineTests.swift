import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct RequestLineTests {
  @Test func `has the fields of the contract, in its order`() throws {
    let expected =
      #"{"timestamp":"2026-11-21T09:30:00.123456Z","severity":"INFO","event":"http.client.request","#
      + #""client.name":"payments","http.request.method":"GET","#
      + #""url.full":"https://api.example.com/v1/users/42?token=REDACTED","#
      + #""server.address":"api.example.com","server.port":443,"http.response.status_code":200,"#
      + #""duration_s":0.012345,"http.request.body.size":0,"http.response.body.size":512,"outcome":"ok","#
      + #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"}"#
    #expect(try lines(of: .example) == [expected])
  }

  @Test func `leaves out sizes that no body has`() throws {
    var observation = RequestObservation.example
    (observation.requestBodySize, observation.responseBodySize) = (.min, -1)
    #expect(try !lines(of: observation).joined().contains("body.size"))
  }

  @Test(arguments: [
    (RequestEnd.response(statusCode: 204), "INFO", #":204,"duration_s":0,"outcome":"ok""#),
    (.response(statusCode: nil), "INFO", #""GET","duration_s":0,"outcome":"ok""#),
    (.response(statusCode: 404), "WARN", #":404,"error.type":"404","duration_s":0,"outcome":"http_error""#),
    (.response(statusCode: 499), "WARN", #":499,"error.type":"499","duration_s":0,"outcome":"http_error""#),
    (.response(statusCode: 500), "ERROR", #":500,"error.type":"500","duration_s":0,"outcome":"http_error""#),
    (.response(statusCode: 503), "ERROR", #":503,"error.type":"503","duration_s":0,"outcome":"http_error""#),
    (.failure(.dns, statusCode: nil), "ERROR", #""GET","error.type":"dns","duration_s":0,"outcome":"error""#),
    (
      .failure(.body, statusCode: 200), "ERROR",
      #":200,"error.type":"body","duration_s":0,"outcome":"error""#
    ),
    (.cancelled, "INFO", #""GET","duration_s":0,"outcome":"cancelled""#),
  ])
  func `tells how the request ended`(end: RequestEnd, severity: String, rest: String) throws {
    let line = try #require(try lines(of: .bare(end)).first)
    #expect(line.contains(#""severity":"\#(severity)","#) && line.contains(rest), "\(line)")
  }

  @Test func `says what went wrong, as far as there is room for it`() throws {
    var observation = RequestObservation.bare(.failure(.dns, statusCode: nil))
    observation.errorMessage = "Could not resolve host: \"example\""
    let line = try #require(try lines(of: observation).first)
    #expect(line.hasSuffix(#""outcome":"error","error.message":"Could not resolve host: \"example\""}"#))
    observation.errorMessage = String(repeating: "a", count: 1_000)
    let long = try #require(try lines(of: observation).first)
    #expect(long.contains("\"\(String(repeating: "a", count: 256))…\""))
  }

  @Test func `leaves out what is unknown`() throws {
    let expected =
      #"{"timestamp":"1970-01-01T00:00:00.000000Z","severity":"INFO","event":"http.client.request","#
      + #""client.name":"c","http.request.method":"GET","http.response.status_code":200,"duration_s":0,"outcome":"ok"}"#
    #expect(try lines(of: .bare()) == [expected])
  }

  @Test(arguments: [(Int?.none, nil), (0, nil), (1, 1), (20, 20)] as [(Int?, Int?)])
  func `tells how often a request was sent again, if it was`(count: Int?, expected: Int?) throws {
    var observation = RequestObservation.example
    observation.resendCount = count
    let line = try #require(try lines(of: observation).first)
    let members = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(members["http.request.resend_count"] as? Int == expected)
  }

  @Test func `has the phases in their order, and what the connection was like`() throws {
    var observation = RequestObservation.bare()
    for (number, phase) in RequestTimings.Phase.allCases.enumerated() {
      observation.timings[phase] = .milliseconds(number + 1)
    }
    observation.isConnectionReused = true
    observation.timeToResend = .milliseconds(20)
    observation.networkRoundTrip = .microseconds(40_700)
    observation.retransmittedSegments = 1
    let line = try #require(try lines(of: observation).first)
    #expect(
      line.contains(
        #""queue_s":0.001,"resolve_s":0.002,"connect_s":0.003,"tls_s":0.004,"upload_s":0.005,"#
          + #""processing_s":0.006,"response_s":0.007,"transfer_s":0.008,"local_s":0.009,"#
          + #""connection.reused":true,"network.resent_after_s":0.02,"network.round_trip_s":0.0407,"network.retransmits":1,"#
      ))
    observation.retransmittedSegments = 0
    (observation.networkRoundTrip, observation.timeToResend) = (nil, nil)
    let shorter = try #require(try lines(of: observation).first)
    #expect(!shorter.contains("network."))
  }

  @Test func `of one that waits is a warning, with what is known by then`() throws {
    let (sink, log) = try RequestLog.collecting {
      $0.fields = ["service.name": "shop"]
      $0.redaction.allowedRequestHeaders = ["accept"]
      $0.sampling.rate = 0
    }
    var request = RequestObservation.example.request
    request.urlTemplate = "/v1/users/{id}"
    request.fields = ["attempt": 2]
    request.headers = ["Accept": "text/plain", "Authorization": "Basic s3cret"]
    log.requestWaits(RequestSnapshot(request, for: .milliseconds(60_500)))
    #expect(log.shutdown())
    let line = try #require(sink.lines.first)
    #expect(line.hasPrefix(#"{"timestamp":""#))
    let expected =
      #","severity":"WARN","event":"http.client.request.waiting","client.name":"payments","#
      + #""http.request.method":"GET","url.full":"https://api.example.com/v1/users/42?token=REDACTED","#
      + #""url.template":"/v1/users/{id}","server.address":"api.example.com","server.port":443,"#
      + #""duration_s":60.5,"waiting_for":"response","trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","#
      + #""http.request.header.accept":["text/plain"],"service.name":"shop","attempt":2}"#
    #expect(line.dropFirst(42) == expected)
    #expect(log.statistics.lines(.warn) == 1)
  }

  @Test(arguments: RequestDirection.allCases)
  func `of one that does not end says how far it has come`(direction: RequestDirection) throws {
    let (sink, log) = try RequestLog.collecting {
      $0.redaction.custom = { _, text in text.replacing("secret", with: "shown") }
    }
    var request = RequestDescription(direction: direction, client: "c", method: "GET", url: "http://h/a")
    // Each direction has keys of its own.
    request.fields = ["waiting_for": "godot", "idle_s": 1, "note": "secret", "url.full": 1, "url.path": 1]
    let foreign = direction == .inbound ? "url.full" : "url.path"
    var progress = RequestProgress(
      wait: direction == .inbound ? .client : .body, statusCode: 200,
      lastActivity: Instant(nanoseconds: 1_000_000_000))
    (progress.requestBodySize, progress.responseBodySize) = (5, 0)
    let waiting = RequestSnapshot(
      request, for: .seconds(9), progress, at: Instant(nanoseconds: 3_500_000_000))
    log.requestWaits(waiting)
    log.requestIsUnfinished(waiting)
    log.queueIsHeld(3, for: .seconds(6))
    log.requestsAreUnfinished(7)
    #expect(log.shutdown())
    let side = direction == .inbound ? "server" : "client"
    let known =
      #""http.response.status_code":200,"duration_s":9,"waiting_for":"\#(waiting.wait?.rawValue ?? "")","#
      + #""idle_s":2.5,"#
      + #""http.request.body.size":5,"http.response.body.size":0,"note":"shown","\#(foreign)":1,"#
      + #""dropped_attributes_count":3}"#
    for (line, event) in zip(sink.lines, ["waiting", "unfinished"]) {
      #expect(line.contains(#","severity":"WARN","event":"http.\#(side).request.\#(event)","#))
      #expect(line.hasSuffix(known))
    }
    let held = #","event":"session_tap.queue.held","requests":3,"duration_s":6,"message":"no URL"#
    #expect(sink.lines[2].contains(held))
    #expect(sink.lines[3].contains(#","event":"session_tap.requests.unfinished","requests":7,"message":""#))
    #expect(log.statistics.lines(.warn) == 4)
  }

  @Test func `tells an unknown method by its own name, cut`() throws {
    var observation = RequestObservation.bare()
    observation.request.method = String(repeating: "BREW", count: 2_500)
    let line = try #require(try lines(of: observation).first)
    let cut = String(repeating: "BREW", count: 16) + "…"
    #expect(line.contains(#""http.request.method":"_OTHER","http.request.method_original":"\#(cut)""#))
  }

  @Test func `has fields of the app's, of every line and of one, and no key twice`() throws {
    let configuration = with(RequestLog.Configuration()) {
      $0.fields = ["service.name": "shop", "zone": "a"]
    }
    let line = try #require(
      try lines(
        of: .bare().with(fields: [
          "zone": "b", "attempt": 2, "ratio": 0.5, "warm": true, "client.name": "forged", "outcome": "forged",
          "client": "a namespace", "outcome.text": "below a key", "dropped_attributes_count": 99,
          "http.request.header.accept": "forged", "http.response.header": "forged", "cold": false,
        ]), configuration: configuration
      ).first)
    #expect(
      line.hasSuffix(
        #""outcome":"ok","service.name":"shop","attempt":2,"cold":false,"ratio":0.5,"warm":true,"zone":"b","dropped_attributes_count":7}"#
      ))
  }

  @Test(arguments: RequestDirection.allCases)
  func `every key of a line is reserved, has its place and a column`(direction: RequestDirection) throws {
    let ends: [RequestEnd] = [.response(statusCode: 404), .failure(.timeout, statusCode: 200)]
    let requests = ends.map { RequestObservation.whole(direction, $0) }
    // What is added to an observation is to be in a line, or at least not forgotten here.
    for (value, name) in requests.flatMap({ [Mirror(reflecting: $0), Mirror(reflecting: $0.request)] })
      .flatMap(\.children).map({ ($0.value, $0.label) })
    {
      let isMissing = ["nil", "[:]"].contains("\(value)") && name != "fields"
      #expect(!isMissing, "\(name ?? "")")
    }
    let keys = try lines(of: requests[0], requests[1]).flatMap { line in
      try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]).keys
    }
    let others = try ["Tests/Scripts/check-log-lines.py", "dashboards/logs/session-tap.lnav.json"].map {
      ($0, try Repository.text($0))
    }
    // Its table, and what follows on served requests.
    let article = try Repository.article("LogInProduction").components(separatedBy: "\nAdd fields to ")[0]
    for key in Set(keys) {
      for (file, text) in others { #expect(text.contains("\"\(key)\""), "\(key) is not in \(file)") }
      #expect(article.contains("`\(key)`"), "\(key) is not in the article")
      let configuration = with(RequestLog.Configuration()) { $0.fields = [key: "x"] }
      let error = #expect(throws: RequestLogError.self, "\(key)") {
        _ = try RequestLog(to: .custom(CollectingSink()), configuration: configuration)
      }
      #expect(error?.code == .reservedField)
      #expect(error?.description.contains("\"\(key)\"") == true)
    }
  }

  /// Indexers that expand dots to objects refuse a key that is also the beginning of another one, in any
  /// document (OpenTelemetry, attribute naming: a name must not be a namespace).
  @Test func `no key of a line is the beginning of another one, in any line`() throws {
    let sink = GatedSink()
    let configuration = with(RequestLog.Configuration()) {
      ($0.queueLineLimit, $0.recentLineLimit) = (20, 100)
      $0.redaction.allowedRequestHeaders = ["accept"]
      $0.redaction.allowedResponseHeaders = ["server"]
    }
    let log = try RequestLog(to: .custom(sink), configuration: configuration)
    for direction in RequestDirection.allCases {
      for end in [RequestEnd.response(statusCode: 404), .failure(.timeout, statusCode: 200)] {
        var whole = RequestObservation.whole(direction, end)
        (whole.request.headers, whole.responseHeaders) = (["Accept": "a"], ["Server": "b"])
        log.requestEnded(whole)
        log.requestWaits(RequestSnapshot(whole.request, for: .seconds(60)))
      }
    }
    for _ in 0..<40 { log.log(.info, "message", ["\(RequestLog.self)": 1]) }
    sink.gate.open()
    #expect(log.shutdown())
    var keys = Set(LogDropReason.allCases.map { "dropped.\($0.rawValue)" })
    for line in String(decoding: log.recent(), as: UTF8.self).split(separator: "\n") {
      keys.formUnion(
        try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]).keys)
    }
    #expect(keys.count > 40 && keys.contains("dropped.queue_full") && keys.contains("message"))
    let pairs = keys.flatMap { key in keys.filter { $0.hasPrefix(key + ".") }.map { "\(key) and \($0)" } }
    #expect(pairs.isEmpty)
  }

  @Test func `refuses fields of every line that are too many, or whose key is too long`() throws {
    let long = String(repeating: "k", count: 257)
    for (keys, text) in [
      ([long], "its key has more than 256 bytes; choose a shorter one"),
      (
        (0...64).map { "\($0)" },
        "65 log fields cannot be set: a line has room for 64; set fewer for every line"
      ),
    ] {
      var configuration = RequestLog.Configuration()
      for key in keys { configuration.fields[key] = 1 }
      let error = #expect(throws: RequestLogError.self) {
        _ = try RequestLog(to: .custom(CollectingSink()), configuration: configuration)
      }
      #expect(error?.code == .invalidField)
      #expect(error?.description.hasSuffix(text) == true)
    }
  }

  @Test func `has 64 fields of its own, and counts the others`() throws {
    let fields = Dictionary(uniqueKeysWithValues: (100..<170).map { ("\($0)", FieldValue.integer(1)) })
    let line = try #require(try lines(of: .bare().with(fields: fields)).first)
    #expect(line.hasSuffix(#","162":1,"163":1,"dropped_attributes_count":6}"#))
  }

  @Test func `has as many fields of every line as find room`() throws {
    var configuration = RequestLog.Configuration()
    for index in 10..<60 { configuration.fields["\(index)"] = .string(String(repeating: "x", count: 1_000)) }
    let line = try #require(try lines(of: .bare(), configuration: configuration).first)
    #expect(line.contains(#","24":"xxx"#))
    let missing = line.firstMatch(of: /"dropped_attributes_count":(\d+)}/).flatMap { Int($0.1) }
    let present = (10..<60).count { line.contains("\"\($0)\":\"x") }
    #expect(missing == 50 - present)
    // Of 16 KiB less is left than a field of 1,008 bytes and its end take.
    #expect((16_384 - 1_060...16_384).contains(line.utf8.count + 1))
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
    let line = try #require(try lines(of: observation).first)
    #expect(line.utf8.count <= 16_384)
    #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["dropped_attributes_count"] as? Int ?? 0 > 100)
    #expect(object["outcome"] as? String == "error")
    #expect(object[url] as? String != "forged")
  }
}
