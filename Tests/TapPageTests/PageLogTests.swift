import TestSupport
import Testing

/// The lines of the log on the page, and those of one trace, in a real browser.
@Suite(.needs(.browser), .enabled(if: Tool.isUsable("chromium"), "chromium is missing"))
struct PageLogTests {
  private static let hostile = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>"

  @Test func `shows the log`() async throws {
    let hostile = Self.hostile.replacing("\"", with: "\\\"")
    let log = """
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"ERROR","client":"\(hostile)","duration_s":0.25}
      {"timestamp":"2026-11-21T09:30:01.5Z","severity":"INFO","http.request.method":"GET","url.full":"https://a/b"}
      {"severity":"INFO","message":"cache warmed"}
      not JSON

      """
    try await PageContent().show(log: log) { browser, _ in
      let lines = try await browser.text("log").split(separator: "\n").map(String.init)
      #expect(
        lines == [
          "\t\t\t\tnot JSON\t\t\t", "\tINFO\t\t\tcache warmed\t\t\t",
          "09:30:01.5Z\tINFO\t\t\tGET https://a/b\t\t\t",
          "09:30:00.123\tERROR\t\t\(Self.hostile)\t\t\t250\u{A0}ms\t",
        ])
      #expect(try await browser.text("slowest") == "No request has ended yet.")
      #expect(browser.complaints == [])
    }
  }

  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let traced = """
    {"timestamp":"2026-11-21T09:30:00.100000Z","severity":"INFO","event":"http.client.request","trace_id":"\(trace)","span_id":"1","client":"a","http.request.method":"GET","url.full":"https://a/1","http.response.status_code":200,"duration_s":0.05}
    {"timestamp":"2026-11-21T09:30:00.150000Z","severity":"INFO","event":"http.client.request","trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"2","http.request.method":"GET","url.full":"https://other/","duration_s":1}
    {"timestamp":"2026-11-21T09:30:00.180000Z","severity":"WARN","event":"app","trace_id":"\(trace)","message":"\(hostile.replacing("\"", with: "\\\""))"}
    {"timestamp":"2026-11-21T09:30:00.200000Z","severity":"ERROR","event":"http.server.request","trace_id":"\(trace)","span_id":"3","http.request.method":"GET","url.path":"/cart","http.response.status_code":500,"duration_s":0.16}

    """

  @Test func `shows the lines of a trace in the order of their starts`() async throws {
    try await PageContent().show(log: Self.traced) { browser, _ in
      #expect(
        try await browser.evaluate("document.getElementById('trace-part').checkVisibility()") == "false")
      #expect(try await browser.text("log").contains("served\t\tGET /cart\t500\t160\u{A0}ms\t4bf92f35"))
      // By keyboard: the button of the second line, which is that of the app's own.
      _ = try await browser.evaluate("document.querySelectorAll('#log button')[1].focus()")
      try await browser.press("Enter", code: 13, text: "\r")
      try await browser.wait("document.getElementById('trace').rows.length === 3")
      #expect(try await browser.evaluate("document.activeElement.id") == "trace-title")
      #expect(try await browser.text("trace-id") == Self.trace)
      let rows = try await browser.text("trace").replacing("\u{A0}", with: " ").split(separator: "\n").map(
        String.init)
      #expect(
        rows == [
          "+0 ms\tERROR\tserved\tGET /cart\t500\t160 ms\t",
          "+10 ms\tINFO\tmade\tGET https://a/1\t200\t50 ms\t",
          "+140 ms\tWARN\t\t\(Self.hostile)\t\t\t",
        ])
      #expect(
        try await browser.text("trace-facts").replacing("\u{A0}", with: " ") == "3 lines, 160 ms in all.")
      let bars = try await browser.evaluate(
        "[...document.querySelectorAll('.track')].map(track => [track.firstChild.offsetLeft / track.clientWidth,"
          + " track.firstChild.offsetWidth / track.clientWidth].map(part => part.toFixed(2))).join(' ')")
      #expect(bars.hasPrefix("0.00,1.00 0.06,0.31 0.8"), "\(bars)")

      // The line keeps the focus when the list is refreshed, and gets it back from the trace.
      try await browser.press("Tab", code: 9)
      #expect(try await browser.evaluate("document.activeElement.id") == "trace-close")
      try await browser.press("Enter", code: 13, text: "\r")
      let focused = "document.activeElement.dataset.trace"
      #expect(try await browser.evaluate(focused) == Self.trace)
      _ = try await browser.evaluate("document.activeElement.id = 'before'")
      try await browser.wait("!document.getElementById('before')")
      #expect(try await browser.evaluate(focused) == Self.trace)
      #expect(
        try await browser.evaluate("document.getElementById('trace-part').checkVisibility()") == "false")

      // By a click anywhere in the line.
      _ = try await browser.evaluate("document.getElementById('log').rows[2].cells[4].click()")
      try await browser.wait("document.getElementById('trace').rows.length === 1")
      #expect(browser.complaints == [])
    }
  }

  @Test func `takes a trace of any text`() async throws {
    let id = "%26limit=1\\\"><img src=x onerror=alert(1)>&"
    let line = #"{"timestamp":7,"trace_id":"\#(id)","message":{"a":1},"duration_s":"long","client":[1]}"#
    let lines = "[]\nnull\n{\"trace_id\":5}\n\(line)\n"
    try await PageContent().show(log: lines) { browser, _ in
      #expect(try await browser.evaluate("document.getElementById('log').rows.length") == "4")
      #expect(try await browser.evaluate("document.querySelectorAll('#log button').length") == "1")
      _ = try await browser.evaluate("document.querySelector('#log button').click()")
      try await browser.wait("document.getElementById('trace').innerText.startsWith('/logs holds no line')")
      #expect(try await browser.text("trace-id") == "%26limit=1\"><img src=x onerror=alert(1)>&")
      #expect(try await browser.evaluate("document.images.length") == "0")
      #expect(browser.complaints == [])
    }
  }
}
