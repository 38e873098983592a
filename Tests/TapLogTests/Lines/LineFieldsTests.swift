import TestSupport

@testable import TapLog

@Suite(.needs(.thread)) struct LineFieldsTests {
  /// A line of a request with little else, from its outcome on.
  private func line(
    _ fields: [String: FieldValue] = [:], shared: [String: FieldValue] = [:]
  ) throws -> String {
    let configuration = with(RequestLog.Configuration()) { $0.fields = shared }
    let line = try #require(try lines(of: .bare().with(fields: fields), configuration: configuration).first)
    return try String(#require(line.split(separator: #""outcome":"ok","#).last))
  }

  private func error(setting fields: [String: FieldValue]) -> RequestLogError? {
    #expect(throws: RequestLogError.self) {
      _ = try RequestLog(to: .memory, configuration: with(.init()) { $0.fields = fields })
    }
  }

  @Test func `are of every line and of one, in the order of their keys, and no key is there twice`() throws {
    let line = try line(
      [
        "zone": "b", "attempt": 2, "ratio": 0.5, "warm": true, "client.name": "forged", "outcome": "forged",
        "client": "a namespace", "outcome.text": "below a key", "dropped_attributes_count": 99,
        "http.request.header.accept": "forged", "http.response.header": "forged", "cold": false,
      ], shared: ["service.name": "shop", "zone": "a"])
    let expected = #"""
      "service.name":"shop","attempt":2,"cold":false,"ratio":0.5,"warm":true,"zone":"b",\#
      "dropped_attributes_count":7}
      """#
    #expect(line == expected)
  }

  @Test func `have keys of 256 bytes, not cut and not longer`() throws {
    let keys = (256...257).map { String(repeating: "k", count: $0) }
    #expect(try line([keys[0]: 1, keys[1]: 2]) == "\"\(keys[0])\":1,\"dropped_attributes_count\":1}")
    var shared = Dictionary(uniqueKeysWithValues: (1...63).map { ("\($0)", FieldValue.integer(1)) })
    shared[keys[0]] = 2
    #expect(try line(shared: shared).hasSuffix(",\"9\":1,\"\(keys[0])\":2}"))
  }

  @Test func `are whole, though each of their bytes is escaped`() throws {
    let key = String(repeating: "\u{1}", count: 256)
    let line = try line(shared: [key: .string(String(repeating: "\u{2}", count: 1_025))])
    let (name, text) = (String(repeating: "\\u0001", count: 256), String(repeating: "\\u0002", count: 1_024))
    #expect(line == "\"\(name)\":\"\(text)…\"}")
  }

  @Test func `are 64 of one line, and the others are counted`() throws {
    let fields = Dictionary(uniqueKeysWithValues: (100..<170).map { ("\($0)", FieldValue.integer(1)) })
    #expect(try line(fields).hasSuffix(#","162":1,"163":1,"dropped_attributes_count":6}"#))
  }

  @Test func `are as many of every line as find room`() throws {
    let text = String(repeating: "x", count: 1_000)
    let shared = Dictionary(uniqueKeysWithValues: (10..<60).map { ("\($0)", FieldValue.string(text)) })
    let line = try #require(lines(of: .bare(), configuration: with(.init()) { $0.fields = shared }).first)
    let missing = line.firstMatch(of: /"dropped_attributes_count":(\d+)}/).flatMap { Int($0.1) }
    let present = (10..<60).prefix { line.contains("\"\($0)\":\"x") }.count
    #expect(present > 14 && missing == 50 - present)
    // Of 16 KiB less is left than a field of 1,008 bytes and its end take.
    #expect((16_384 - 1_060...16_384).contains(line.utf8.count + 1))
  }

  @Test func `of every line are refused where they are too many, too long, or hide a key of the line's own`()
  {
    let many = Dictionary(uniqueKeysWithValues: (0...64).map { ("\($0)", FieldValue.integer(1)) })
    let errors = [[String(repeating: "k", count: 257): 1], many, ["client": 1]].map { error(setting: $0) }
    #expect(errors.map(\.?.code) == [.invalidField, .invalidField, .invalidField])
    let texts = errors.map { $0?.description.replacing(/"k+…?"/, with: "KEY") }
    let expected = [
      "the log field KEY cannot be set: its key has more than 256 bytes; choose a shorter one",
      "65 log fields cannot be set: a line has room for 64; set fewer for every line",
      "the log field \"client\" cannot be set: lines have it by themselves, "
        + "or it and such a key begin with each other; choose another key",
    ]
    #expect(texts == expected)
  }

  @Test(arguments: RequestDirection.allCases)
  func `have none of the keys of a line, each of which has its place in a document`(
    direction: RequestDirection
  ) throws {
    let ends: [RequestEnd] = [.response(statusCode: 404), .failure(.timeout, statusCode: 200)]
    let requests = ends.map { RequestObservation.whole(direction, $0) }
    // What is added to an observation is to be in a line, or at least not forgotten here.
    for (value, name) in requests.flatMap({ [Mirror(reflecting: $0), Mirror(reflecting: $0.request)] })
      .flatMap(\.children).map({ ($0.value, $0.label) })
    {
      let isMissing = ["nil", "[:]"].contains("\(value)") && name != "fields"
      #expect(!isMissing, "\(name ?? "")")
    }
    let keys = try Set(lines(of: requests[0], requests[1]).flatMap { try jsonObject($0).keys })
    let others = try ["Tests/Scripts/check-log-lines.py", "dashboards/logs/session-tap.lnav.json"].map {
      ($0, try Repository.text($0))
    }
    let article = try Repository.article("WhatTheTapSees")
    for key in keys {
      for (file, text) in others { #expect(text.contains("\"\(key)\""), "\(key) is not in \(file)") }
      #expect(article.contains("`\(key)`"), "\(key) is not in the article")
      let refusal = error(setting: [key: "x"])
      #expect(refusal?.code == .invalidField && refusal?.description.contains("\"\(key)\"") == true)
    }
  }

  /// Indexers that expand dots to objects refuse a key that is also the beginning of another one, in any
  /// document (OpenTelemetry, attribute naming: a name must not be a namespace).
  @Test func `have company in which no key is the beginning of another one, in any line`() throws {
    let (sink, log) = try RequestLog.collecting(isStuck: true) {
      ($0.queueLineLimit, $0.recentLineLimit) = (20, 100)
      $0.redaction.allowedRequestHeaders = ["accept"]
      $0.redaction.allowedResponseHeaders = ["server"]
    }
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
      keys.formUnion(try jsonObject(line).keys)
    }
    #expect(keys.count > 40 && keys.contains("dropped.queue_full") && keys.contains("message"))
    let pairs = keys.flatMap { key in keys.filter { $0.hasPrefix(key + ".") }.map { "\(key) and \($0)" } }
    #expect(pairs.isEmpty)
  }
}
