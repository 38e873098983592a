import TestSupport

/// One request on the page, and its trace, in a real browser.
@Suite(.needs(.browser), .inBrowser) struct PageRequestTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  /// A served request, one that it made, which failed, a line of the app's own, and another trace.
  private static let log = """
    {"timestamp":"2026-11-21T09:30:00.100000Z","severity":"ERROR","event":"http.client.request","client.name":"users","http.request.method":"GET","url.full":"https://a.test/users/1","url.template":"/users/{id}","server.address":"a.test","server.port":443,"http.response.status_code":503,"error.type":"503","duration_s":0.08,"time_to_first_byte_s":0.07,"queue_s":0.01,"resolve_s":0.002,"connect_s":0.008,"tls_s":0.02,"upload_s":0.004,"processing_s":0.026,"transfer_s":0.008,"local_s":0.002,"network.protocol.version":"1.1","network.peer.address":"192.0.2.1","connection.reused":false,"network.round_trip_s":0.008,"http.request.body.size":48,"http.response.body.size":2048,"outcome":"http_error","trace_id":"\(trace)","span_id":"1","user.id":"\(PageContent.hostile.replacing("\"", with: "\\\""))"}
    {"timestamp":"2026-11-21T09:30:00.150000Z","severity":"INFO","event":"http.client.request","trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"2","http.request.method":"GET","url.full":"https://other/","outcome":"ok","duration_s":1}
    {"timestamp":"2026-11-21T09:30:00.180000Z","severity":"WARN","event":"app","trace_id":"\(trace)","span_id":"3","message":"\(PageContent.hostile.replacing("\"", with: "\\\""))"}
    {"timestamp":"2026-11-21T09:30:00.200000Z","severity":"ERROR","event":"http.server.request","trace_id":"\(trace)","span_id":"4","http.request.method":"GET","url.path":"/cart","client.address":"192.0.2.7","http.response.status_code":502,"error.type":"502","duration_s":0.2}

    """

  private static let isInView =
    "(box => box.width > 300 && box.top >= 0 && box.top < innerHeight && box.right <= innerWidth)($('drawer').getBoundingClientRect())"
  /// The rows of a waterfall: their words, and how far along and how wide the bar is.
  private static func bars(_ list: String) -> String {
    """
    [...all('.waterfall\(list) .track')].map(track => [track.parentNode.firstChild.textContent,
      ...[track.firstChild.offsetLeft, track.firstChild.offsetWidth].map(part => Math.round(100 * part / track.clientWidth)),
      track.nextSibling.textContent].join('|')).join('\\n')
    """
  }

  @Test func `opens a request in view, with its phases`() async throws {
    try await PageContent().show(log: Self.log) { browser in
      #expect(try await !browser.holds(Self.isInView))
      // By a click anywhere in the line, however far down it is.
      try await browser.evaluate("$('lines').rows[3].cells[4].click()")
      try await browser.wait(Self.isInView)
      try await browser.expect([
        "$('drawer-title').innerText": "GET https://a.test/users/1",
        "document.activeElement.id": "drawer-title",
      ])
      let facts = try await browser.evaluate(
        "[...all('.facts div')].map(one => [...one.children].map(one => one.textContent).join(': ')).join('\\n')"
      )
      #expect(
        facts == """
          Began: 2026-11-21 09:30:00.020
          Took: 80 ms
          Status: 503
          Made by: users
          To: a.test at 192.0.2.1
          Path: /users/{id}
          Sent: 48 B
          Received: 2.05 kB
          First byte after: 70 ms
          Connection: HTTP/1.1, new
          Trace: \(Self.trace)
          Span: 1
          user.id: \(PageContent.hostile)
          """)
      // The process says it.
      try await browser.wait("document.querySelector('#drawer .verdict')")
      try await browser.expect([
        "document.querySelector('.trouble').textContent": "The server answered 503 Service Unavailable.",
        "document.querySelector('.waterfall').textContent.slice(-22)": "local this process2 ms",
        "document.querySelector('#drawer .verdict').textContent":
          "32.5 % is processing: the server's work. The network's round trip is 8 ms of 26 ms. "
          + "The app can change 37.5 %: connecting took 30 ms; make all requests with one session, which uses connections again.",
      ])
      let bars = try await browser.evaluate(Self.bars(":not(.trace)"))
      let rows = bars.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
      let times = rows.map { "\($0[0].prefix { $0 != " " }) \($0[3])" }.joined(separator: ", ")
      expectEqual(
        times,
        "queue 10 ms, resolve 2 ms, connect 8 ms, tls 20 ms, upload 4 ms, processing 26 ms, round 8 ms, "
          + "transfer 8 ms, local 2 ms")
      // Each begins where the one before has ended; the round trip beside the processing, of which it is a
      // part.
      let bounds: [(start: Double, width: Double)] = [
        (0, 12.5), (12.5, 2.5), (15, 10), (25, 25), (50, 5), (55, 32.5), (55, 10), (87.5, 10), (97.5, 2.5),
      ]
      for (row, expected) in zip(rows, bounds) {
        let (start, width) = (Double(row[1]) ?? -9, Double(row[2]) ?? -9)
        #expect(abs(start - expected.start) <= 1.5 && abs(width - expected.width) <= 1.5, "\(row)")
      }

      // It is in the address, and there again after a reload; Escape closes it, and so does Back.
      try await browser.expect(["location.hash": "#request=2026-11-21T09%3A30%3A00.100000Z+1"])
      try await browser.reload()
      try await browser.wait("\(Self.isInView) && all('.waterfall').length === 2")
      try await browser.press("Escape", code: 27)
      try await browser.wait("!(\(Self.isInView)) && location.hash === ''")
      try await browser.evaluate("history.back()")
      try await browser.wait(Self.isInView)
      try await browser.press("Escape", code: 27)
      // By keyboard too. The focus comes back.
      try await browser.evaluate("all('#lines button')[2].focus()")
      try await browser.press("Enter", code: 13, text: "\r")
      try await browser.wait("document.activeElement.id === 'drawer-title'")
      try await browser.press("Escape", code: 27)
      try await browser.wait("document.activeElement === all('#lines button')[2]")
    }
  }

  @Test func `shows a trace as the waterfall of its requests`() async throws {
    try await PageContent().show(log: Self.log, choice: "trace=\(Self.trace)") { browser in
      try await browser.wait(Self.isInView)
      try await browser.expect(["$('drawer-title').innerText": "Trace \(Self.trace)"])
      let bars = try await browser.evaluate(Self.bars(".trace"))
      let rows = bars.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
      // A line of the app's own has no length.
      let known = Array(rows.prefix(2)) + rows.dropFirst(2).map { Array($0.prefix(2)) }
      expectEqual(
        known,
        [
          ["served GET /cart", "0", "100", "502 200 ms"],
          ["made users GET /users/1", "10", "40", "503 80 ms"],
          ["said \(PageContent.hostile)", "90"],
        ])
      // A made request has the colours of its phases, a served one is apart.
      let classes =
        "[...all('.trace .bar')].map(bar => [bar.className, ...[...bar.children].map(one => one.className)].join(' ')).join()"
      try await browser.expect([
        classes: "bar served,bar made queue resolve connect tls upload processing transfer local,bar "
      ])
      // From the trace to its request, and on to the one that it was made for.
      try await browser.click(".trace li:nth-child(2) button")
      try await browser.wait("$('drawer-title').textContent.endsWith('/users/1')")
      try await browser.expect(["all('[aria-current]').length": "1"])
      try await browser.click(".trace li:first-child button")
      try await browser.wait("$('drawer-title').textContent === 'GET /cart'")
      try await browser.expect([
        "document.querySelector('.trouble').textContent": "This app answered 502 Bad Gateway."
      ])
    }
  }

  @Test func `takes a trace of any text, and one that is gone`() async throws {
    let id = "%26limit=1\\\"><img src=x onerror=alert(1)>&"
    let line = #"{"timestamp":7,"trace_id":"\#(id)","message":{"a":1},"duration_s":"long","client.name":[1]}"#
    let lines = "[]\nnull\n{\"trace_id\":5}\n\(line)\n"
    try await PageContent().show(log: lines) { browser in
      try await browser.expect(["$('lines').rows.length": "4"])
      try await browser.click("#lines td:last-child button:not([hidden])")
      try await browser.wait("$('drawer-content').innerText.includes('holds no line of this trace')")
      try await browser.expect([
        "$('drawer-title').innerText": "Trace %26limit=1\"><img src=x onerror=alert(1)>&"
      ])
      try await browser.evaluate("location.hash = 'request=gone'")
      try await browser.wait("$('drawer-content').innerText.includes('holds no line of it any more')")
      try await browser.expect(["document.images.length": "0"])
    }
  }

  /// A service that logs in a handler has lines with the span of the request that it serves.
  @Test func `a row opens its request, and not a line of the app's with the same span`() async throws {
    let content = try PageContent()
    let trace = try #require(TraceContext(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-00"))
    let request = RequestDescription(
      direction: .inbound, method: "GET", url: "/carts/7", urlTemplate: "/carts/{id}", traceContext: trace)
    content.record(1, request, 3_000, .response(statusCode: 503), phases: [:])
    let said =
      #"{"timestamp":"2026-11-21T09:30:00.100000Z","severity":"INFO","event":"app","trace_id":"\#(Self.trace)","span_id":"\#(trace.spanID)","message":"no stock"}"#
    // Of the same microsecond.
    let alsoSaid = said.replacing("no stock", with: "no cart")
    try await content.show(log: "\(said)\n\(alsoSaid)\n", choice: "minutes=10") { browser in
      try await browser.evaluate("$('notes-part').open = true")
      for selector in ["#notes tr:first-child button", "#notes tr:last-child button", "#slowest button"] {
        try await browser.openDrawer(at: selector, scrolls: true)
        #expect(try await browser.text("drawer-title") == "GET /carts/{id}", "\(selector)")
        try await browser.expectSeen("This app answered 503 Service Unavailable.")
        try await browser.point(at: "#drawer-close")
        try await browser.wait("$('drawer').hidden")
      }
      for (row, message) in [(1, "no cart"), (2, "no stock")] {
        try await browser.openDrawer(at: "#lines tr:nth-child(\(row)) button", scrolls: true)
        try await browser.wait("$('drawer-title').textContent === '\(message)'")
      }
      // From the trace back to the request.
      try await browser.point(at: ".trace li:nth-child(3) button")
      try await browser.wait("$('drawer-title').textContent === 'GET /carts/{id}'")
    }
  }

  /// Both have one key: the time of the end to the microsecond, and the span.
  @Test func `a request that the log has is shown as it stands there, with all its keys`() async throws {
    let content = try PageContent()
    let trace = try #require(TraceContext(traceparent: "00-\(Self.trace)-00f067aa0ba902b7-00"))
    let request = with(content.request(host: "a.test")) { $0.traceContext = trace }
    // It takes 20 ms.
    content.metrics.record(request, .response(statusCode: 503)) {
      $0.start = Timestamp(nanosecondsSinceEpoch: 1_763_717_400_103_456_000)
    }
    let line =
      #"{"timestamp":"2025-11-21T09:30:00.123456Z","span_id":"\#(trace.spanID)","duration_s":0.02,"#
      + #""event":"http.client.request","http.request.method":"GET","url.full":"https://a.test/users/1"}"#
    let choice = "request=2025-11-21T09%3A30%3A00.123456Z+\(trace.spanID)"
    try await content.show(log: line + "\n", choice: choice) { browser in
      let title = try await browser.text("drawer-title")
      let content = try await browser.text("drawer-content")
      #expect(title == "GET https://a.test/users/1" && content.contains("Its line"))
    }
  }

  /// After its head has gone out, a status says nothing about how a request ended.
  @Test func `what was cut off after its head has its cause for a status`() async throws {
    let served =
      #""event":"http.server.request","http.request.method":"GET","url.path":"/export","duration_s":0.2"#
    let log = [
      #""severity":"ERROR",\#(served),"http.response.status_code":200,"error.type":"connection_lost","outcome":"error""#,
      #""severity":"INFO",\#(served),"http.response.status_code":200,"outcome":"cancelled""#,
      #""severity":"ERROR",\#(served),"http.response.status_code":503,"error.type":"503","outcome":"http_error""#,
      #""severity":"INFO",\#(served),"http.response.status_code":200,"outcome":"ok""#,
    ].enumerated().map {
      #"{"timestamp":"2026-11-21T09:30:0\#($0).000000Z","trace_id":"\#(Self.trace)",\#($1)}"# + "\n"
    }
    try await PageContent().show(log: log.joined(), choice: "trace=\(Self.trace)") { browser in
      try await browser.wait(Self.isInView)
      let marks = try await browser.evaluate(
        "[...all('.trace .number')].map(node => node.textContent).join('|')")
      #expect(marks == "connection_lost 200 ms|cancelled 200 ms|503 200 ms|200 200 ms")
      let status = try await browser.evaluate(
        "[...$('lines').rows].map(row => row.cells[5].textContent).join('|')")
      #expect(status == "200|503|cancelled|connection_lost")
      try await browser.point(at: ".trace li:first-child button")
      try await browser.wait("$('drawer-title').textContent === 'GET /export'")
      try await browser.expectSeen(
        "It failed: connection_lost: the connection broke, after the head of a 200.")
    }
  }
}
