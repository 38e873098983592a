import TapLog
import TestSupport

/// Lines that have no room on the stack, or anywhere.
@Suite(.needs(.thread)) struct LongLineTests {
  @Test(arguments: [0, 900, 4_000])
  func `the app's rule is asked once for each text of a line, however long it is`(length: Int) throws {
    let asked = Mutex<[String]>([])
    let (sink, log) = try RequestLog.collecting {
      $0.redaction.custom = { key, value in
        asked.withLock { $0.append(key) }
        return value
      }
    }
    var request = RequestObservation.bare()
    request.request.url = "http://host/" + String(repeating: "a", count: length)
    request.request.fields = ["user": "u", "note": .string(String(repeating: "b", count: length))]
    log.requestEnded(request)
    #expect(log.shutdown() && sink.lines.count == 1)
    let keys = asked.withLock { $0 }
    #expect(keys.count == Set(keys).count && keys.contains("url.full") && keys.contains("note"), "\(keys)")
  }

  /// As many bytes as escaping makes of each character.
  @Test(arguments: ["\"", "\u{1}", "\u{85}", "\u{2028}", "a\"ü"])
  func `a text of which escaping makes too much is cut, and what follows it is there`(unit: String) throws {
    let text = String(repeating: unit, count: 8_190 / unit.utf8.count)
    let (sink, log) = try RequestLog.collecting()
    TraceContext.$current.withValue(.random()) { log.log(.info, text, ["n": 1]) }
    var request = RequestObservation.bare()
    request.request.url = "http://host/" + text
    log.requestEnded(request)
    request.request.direction = .inbound
    request.request.url = "/" + text
    log.requestEnded(request)
    #expect(log.shutdown())
    let objects = try sink.lines.map { try jsonObject($0[...]) }
    let texts = zip(objects, ["message", "url.full", "url.path"]).map { $0[$1] as? String ?? "" }
    for shown in texts {
      let start = shown.hasPrefix("http://host/") ? "http://host/" : shown.hasPrefix("/") ? "/" : ""
      let body = shown.dropFirst(start.count).dropLast(shown.hasSuffix("…") ? 1 : 0)
      #expect(text.hasPrefix(body) && body.utf8.count >= 1_700 && (shown.hasSuffix("…") || body == text))
    }
    #expect(objects[0]["n"] as? Int == 1 && objects[0]["trace_id"] != nil)
    #expect(objects.allSatisfy { $0["dropped_attributes_count"] == nil })
    #expect(objects.dropFirst().allSatisfy { $0["outcome"] != nil })
  }
}
