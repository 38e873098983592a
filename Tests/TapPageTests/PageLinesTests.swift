import TapEndpoint
import TapPage
import TestSupport

/// The lines of the log on the page, and the search in them, in a real browser.
@Suite(.needs(.browser), .inBrowser) struct PageLinesTests {
  @Test func `shows the log`() async throws {
    let hostile = PageContent.hostile.replacing("\"", with: "\\\"")
    let log = """
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"ERROR","client.name":"\(hostile)","duration_s":0.25}
      {"timestamp":"2026-11-21T09:30:01.5Z","severity":"INFO","http.request.method":"GET","url.full":"https://a/b"}
      {"severity":"INFO","message":"cache warmed"}
      not JSON

      """
    try await PageContent().show(log: log) { browser in
      let lines = try await browser.rows("lines")
      #expect(
        lines == [
          "–||||not JSON|||", "–|INFO|||cache warmed|||", "09:30:01.5Z|INFO|||GET https://a/b|||",
          "09:30:00.123|ERROR||\(PageContent.hostile)|||250 ms|",
        ])
    }
  }

  private static func line(_ second: Int, _ severity: String, _ rest: String = "\"message\":\"\"") -> String {
    let time = "2026-11-21T09:30:\(second < 10 ? "0" : "")\(second).000000Z"
    return #"{"timestamp":"\#(time)","span_id":"\#(second)","severity":"\#(severity)",\#(rest)}"# + "\n"
  }

  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let made = #""event":"http.client.request","client.name":"#
  private static let log =
    line(1, "INFO", made + #""a","server.address":"x","duration_s":0.05"#)
    + line(2, "ERROR", made + #""a","error.type":"timeout","duration_s":2,"trace_id":"\#(trace)""#)
    + line(3, "WARN", made + #""b","http.response.status_code":404,"error.type":"404","duration_s":0.2"#)
    + line(
      4, "ERROR",
      #""event":"http.server.request","http.route":"/cart","http.response.status_code":500,"error.type":"500","duration_s":3"#
    ) + line(5, "INFO", #""message":"Oat milk is out""#)

  @Test func `finds lines, and keeps the search in the address`() async throws {
    try await PageContent().show(log: Self.log) { browser in
      let seconds = "[...$('lines').rows].map(row => row.cells[0].innerText.slice(6, 8)).join()"
      try await browser.expect([
        seconds: "05,04,03,02,01",
        "$('found').innerText": "5 of 5 lines, 09:30:01 to 09:30:05",
      ])
      for (choices, found) in [
        ([("only", "errors")], "04,02"), ([("only", "failed")], "04,03,02"),
        ([("slower", "150")], "04,03,02"), ([("text", "OAT milk")], "05"), ([("text", Self.trace)], "02"),
        ([("side", "served")], "04"), ([("side", "made"), ("slower", "100")], "03,02"),
      ] {
        for (id, value) in choices { try await browser.choose(id, value) }
        try await browser.wait("\(seconds) === '\(found)'")
        for (id, _) in choices { try await browser.choose(id, "") }
      }
      try await browser.choose("text", "client.name\":\"a")
      try await browser.choose("only", "errors")
      try await browser.wait("\(seconds) === '02'")
      try await browser.expect(["location.hash": "#only=errors&text=client.name%22%3A%22a"])
      try await browser.reload()
      try await browser.wait("\(seconds) === '02'")
      try await browser.expect(["$('only').value": "errors"])
    }
  }

  @Test func `takes the filters of the page from its address, known to it or not`() async throws {
    try await PageContent().show(log: Self.log, choice: "client=a&host=x") { browser in
      #expect(try await browser.text("found").hasPrefix("1 of 5 lines"))
      try await browser.expect(["$('host').value": "x"])
      try await browser.click("#all")
      try await browser.wait("$('lines').rows.length === 5")
      try await browser.expect(["location.hash": ""])
      try await browser.evaluate("history.back()")
      try await browser.wait("$('lines').rows.length === 1")
    }
  }

  @Test func `asks for new lines alone, and holds them while it is paused`() async throws {
    let last = Mutex(3), asked = Mutex<[String]>([])
    let logs = EndpointRoute.immediate("/logs") { request in
      let after = request.queryItems.first { $0.name == "after" }?.value
      asked.withLock { $0.append(after ?? "all") }
      let newest = last.withLock { $0 }
      let lines = ((after.flatMap { Int($0) } ?? 0)..<newest).map { Self.line($0 + 1, "INFO") }
      return EndpointResponse(
        headers: ["Session-Tap-Last-Line": "\(newest)"], body: Array(lines.joined().utf8))
    }
    try await PageContent().show([logs]) { browser in
      let count = "$('lines').rows.length"
      try await browser.expect([count: "3"])
      // A row that stays is the same element, so that a click or a selection outlasts what comes.
      try await browser.evaluate("$('lines').rows[0].id = 'before'")
      last.withLock { $0 = 5 }
      try await browser.wait("\(count) === 5 && $('before').rowIndex === 3")
      try await browser.click("#pause")
      try await browser.expect(["$('pause').innerText": "Resume"])
      last.withLock { $0 = 9 }
      try await browser.click("#pause")
      try await browser.wait("\(count) === 9")
      let all = asked.withLock(\.self)
      #expect(all.prefix(2) == ["all", "3"] && all.contains("5"))
    }
  }
}
