import TestSupport

/// What fails now, why it is slow, and that request: what a person sees without scrolling, and after one
/// click or two.
@Suite(.needs(.browser), .inBrowser) struct PageNowTests {
  /// A desktop, and the first 600 of its lines; a phone, and all of its first screen.
  static let screens = [(width: 1280, height: 900, first: 600), (390, 844, 844)]

  private static func show(
    _ content: PageContent, log: String?, _ body: (Browser, _ first: Int) async throws -> Void
  ) async throws {
    // All that there is: a busy machine may take longer than a minute.
    try await content.show(log: log, choice: "minutes=10") { browser in
      for (width, height, first) in screens {
        try await browser.show(width: width, height: height)
        try await browser.wait("innerWidth === \(width)")
        _ = try await browser.evaluate("scrollTo(0, 0)")
        try await body(browser, first)
        _ = try await browser.evaluate("choose({ request: '', trace: '' })")
        try await browser.wait("$('drawer').hidden")
      }
    }
  }

  @Test func `a quiet service has a quiet page`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    content.record(40, request, 40)
    content.record(5, request, 3, .response(statusCode: 404))
    let line = PageContent.line(#""http.response.status_code":404,"error.type":"404","duration_s":0.003"#)
    try await Self.show(content, log: line) { browser, first in
      let seen = try await browser.seen(within: first)
      #expect(seen.contains("Nothing failed and nothing was slow in the last 10 minutes: 45 requests."))
      // 4xx are no errors, and apart; the charts come next.
      #expect(seen.contains("5 requests answered with a 4xx|The last minutes|"))
      // Behind the page's own address, whose port may have these digits.
      #expect(!seen.drop { $0 != "|" }.contains("404"))
      try await Self.openRefused(browser)
    }
  }

  private static func openRefused(_ browser: Browser) async throws {
    try await browser.point(at: "#refused-words")
    try await browser.wait("$('refused').checkVisibility()")
    try await browser.openDrawer(at: "#refused button")
    try await browser.expectSeen("The server answered 404 Not Found.")
    _ = try await browser.evaluate("$('refused-part').open = false")
  }

  @Test func `what fails comes first, and leads to its newest request`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    content.record(114, request, 40)
    content.record(38, request, 4, .response(statusCode: 503))
    content.record(50, request, 4, .response(statusCode: 404))
    content.serve(38, route: "/cart", 8, statusCode: 502)
    content.serve(164, route: "/cart", 8)
    let log = ["1", "2"].map {
      PageContent.line(
        #""span_id":"\#($0)","http.response.status_code":503,"error.type":"503","duration_s":0.004,"processing_s":0.003"#,
        path: "/users/\($0)")
    }
    try await Self.show(content, log: log.joined()) { browser, first in
      let sentence =
        "38 of 202 requests to GET /users/{id} failed in the last 10 minutes (503 Service Unavailable)."
      let seen = try await browser.seen(within: first)
      #expect(seen.contains("\(sentence) 1 more row below."))
      let rows = try await browser.rows("wrong").map { $0.split(separator: "|").map(String.init) }
      #expect(
        rows.map { $0.prefix(5) } == [
          ["503 Service Unavailable", "GET /users/{id}", "payments", "a.test", "38 of 202"],
          ["502 Bad Gateway", "GET /cart", "served", "–", "38 of 202"],
        ])
      for row in rows {
        // Since when, and when last.
        #expect(
          row.count == 7 && row[5...].allSatisfy { $0.wholeMatch(of: /\d\d:\d\d:\d\d/) != nil }, "\(row)")
        for (place, text) in row.enumerated() where place != 3 { #expect(seen.contains(text), "\(text)") }
      }
      // What is out of sight takes no click.
      await #expect(throws: Browser.Failure.self) { try await browser.point(at: "#lines tr button") }
      try await browser.openDrawer(at: "#wrong tr button")
      try await browser.expectSeen(
        "GET https://a.test/users/2", "The server answered 503 Service Unavailable.")
    }
  }

  /// The process keeps the newest request of each failure, as it keeps the slowest ones.
  @Test func `what fails leads to its request, without a log`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    content.record(20, request, 40, phases: [.processing: 40])
    content.record(3, request, 4, .response(statusCode: 503), phases: [.processing: 4])
    content.record(2, request, 7, .failure(.connectionLost, statusCode: nil), phases: [.processing: 7])
    content.record(1, request, 5, .response(statusCode: 404), phases: [.processing: 5])
    content.serve(2, route: "/cart", 8, statusCode: 502)
    try await Self.show(content, log: nil) { browser, _ in
      for (row, title, text) in [
        (1, "GET /cart", "This app answered 502 Bad Gateway."),
        (2, "GET /users/{id}", "The server answered 503 Service Unavailable."),
        (3, "GET /users/{id}", "It failed: connection_lost: the connection broke."),
      ] {
        try await browser.openDrawer(at: "#wrong tr:nth-child(\(row)) button")
        try await browser.expectSeen("|\(title)|", text)
        try await browser.closeDrawer()
      }
      try await Self.openRefused(browser)
    }
  }

  @Test func `what always fails stands above what fails more often, but mostly works`() async throws {
    let content = try PageContent()
    for (path, failed, all) in [("/some", 10, 51), ("/all", 8, 8), ("/few", 1, 1), ("/half", 20, 40)] {
      let request = content.request(host: "a.test", template: path)
      content.record(failed, request, 4, .response(statusCode: 503))
      content.record(all - failed, request, 4)
    }
    content.serve(8, route: "/served", 8, statusCode: 502)
    try await Self.show(content, log: nil) { browser, first in
      try await browser.expectSeen("20 of 40 requests to GET /half failed", within: first)
      // A made request may be why the served one failed.
      let paths = try await browser.rows("wrong").map { $0.split(separator: "|")[1] }
      #expect(paths == ["GET /half", "GET /all", "GET /served", "GET /some", "GET /few"])
    }
  }

  @Test func `a time-out is no work of the server's`() async throws {
    let content = try PageContent()
    content.record(
      12, content.request(host: "a.test"), 2_000, .failure(.timeout, statusCode: nil),
      phases: [.processing: 2_000])
    let line = PageContent.line(
      #""error.type":"timeout","duration_s":2,"queue_s":0.1,"processing_s":1.9,"cut_off_phase":"processing","network.round_trip_s":0.001,"error.message":"no response within 2.0 s: timeoutInterval""#
    )
    try await Self.show(content, log: line) { browser, first in
      try await browser.expectSeen(
        "12 of 12 requests to GET /users/{id} failed in the last 10 minutes (timeout: no complete response in time).",
        within: first)
      // All of them took over a second: they timed out, which is said.
      #expect(try await browser.rows("wrong").count == 1)
      #expect(
        try await browser.evaluate("$('phases').textContent").contains(
          "12 requests timed out: what the server did meanwhile is unknown."))
      try await browser.openDrawer(at: "#wrong tr button")
      try await browser.expectSeen(
        "no response within 2.0 s: timeoutInterval",
        "95 % is processing: the wait for the server's answer.",
        "It was cut off in processing: its whole time is unknown.")
      #expect(try await !browser.seen().contains("the server's work"))
      #expect(try await browser.evaluate("all('.processing.cut').length") == "1")
    }
  }

  @Test func `a slow row leads to its slowest request, beside the usual one`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    for _ in 0..<2 {
      content.record(29, request, 20, phases: [.processing: 18, .local: 2])
      content.record(1, request, 3_000, phases: [.queue: 200, .processing: 2_798, .local: 2])
    }
    content.record(8, request, 2_000, phases: [.processing: 2_000])
    // Not even a line of the request is here: the process keeps the slowest ones.
    try await Self.show(content, log: nil) { browser, first in
      try await browser.expectSeen(
        "10 of 68 requests to GET /users/{id} took over 1 s in the last 10 minutes (341 ms on average).",
        within: first)
      try await browser.openDrawer(at: "#wrong tr button")
      try await browser.expectSeen(
        "|GET /users/{id}|", "mean|of 68 requests to this path|341 ms",
        "It took 2.66 s longer than the mean of 68 requests to this path, 341 ms: 2.47 s more in processing.")
      // It survives a reload, as any choice.
      try await browser.reload()
      try await browser.wait("!$('drawer').hidden")
    }
  }

  /// Where the app names no template, a row is about all paths of a host, which nothing on the page may take
  /// for one path.
  @Test func `an app without templates has rows of hosts, and paths as examples`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test", template: nil)
    content.record(40, request, 40, phases: [.local: 40])
    content.record(20, request, 2_000, phases: [.processing: 2_000])
    content.record(6, request, 3_000, .failure(.timeout, statusCode: nil), phases: [.processing: 3_000])
    let log = [
      (#""span_id":"1","error.type":"timeout","duration_s":3,"processing_s":3"#, "/payments/1"),
      (#""span_id":"2","http.response.status_code":200,"duration_s":2,"processing_s":2"#, "/reports/2"),
    ].map { PageContent.line($0, path: $1, template: "") }
    try await Self.show(content, log: log.joined()) { browser, first in
      try await browser.expectSeen(
        "6 of 66 GET requests to a.test failed in the last 10 minutes (timeout: no complete response in time), such as GET /payments/1. 1 more row below.",
        within: first)
      #expect(
        try await browser.rows("wrong").map { $0.split(separator: "|").prefix(5).joined(separator: "|") } == [
          "timeout: no complete response in time|GET /payments/1, …|payments|a.test|6 of 66",
          "took over 1 s|GET /reports/2, …|payments|a.test|20 of 66",
        ])
      // Those that timed out are slower, and have a row of their own.
      try await browser.openDrawer(at: "#wrong tr:nth-child(2) button")
      try await browser.expectSeen(
        "GET https://a.test/reports/2",
        "It took 1.1 s longer than the mean of 66 requests without a template, 903 ms:")
    }
  }

  /// What a process would have after ten minutes.
  @Test func `compares the time that is chosen with that before`() async throws {
    // Slow as before; slower than before, but fast; a tail of one in eleven; slow only with its time-outs.
    // Time-outs were once ten minutes ago, and again and again since a minute.
    let series = ["long", "slower", "tail", "late"].map { path in
      let error = path == "late" ? #",error_type=\"timeout\""# : ""
      let labels = #"client=\"c\"\#(error),http_request_method=\"GET\",server_address=\"a\""#
      return #"{"side": "made", "labels": "\#(labels),url_template=\"/\#(path)\""}"#
    }
    let history = """
      {"slot_s": 5, "covered_s": {"made": 600, "served": 600}, "bounds": {"made": [0.1, 0.5, 1], "served": []},
        "slots": [{"age_s": 590, "added": [[3, 0, 0, 0, 0, 2]]},
          {"age_s": 400, "added": [[0, 20, 0, 0, 0, 10], [1, 0.2, 20]]},
          {"age_s": 60, "added": [[1, 2, 0, 10], [3, 4, 0, 0, 0, 2]]},
          {"age_s": 10, "added": [[0, 20, 0, 0, 0, 10], [2, 3, 10, 0, 0, 1], [3, 4, 0, 0, 0, 2]]}],
        "series": [\(series.joined(separator: ", "))], "slowest": [], "failed": []}
      """
    try await PageContent().show(history: history, choice: "minutes=5") { browser in
      try await browser.wait("$('wrong').rows.length === 3")
      #expect(
        try await browser.text("wrong-title")
          == "4 of 4 requests to GET /late failed in the last 5 minutes (timeout: no complete response in time). 2 more rows below."
      )
      let rows = try await browser.rows("wrong").map { $0.split(separator: "|").map(String.init) }
      #expect(
        rows.map { $0.prefix(5).joined(separator: "|") } == [
          "timeout: no complete response in time|GET /late|c|a|4 of 4",
          "were slower than before|GET /slower|c|a|10 of 10", "took over 1 s|GET /long|c|a|10 of 10",
        ])
      // From the begin of its first step, a minute ago, to the end of its last one.
      let seconds = try rows.map { row in
        let times = row[5...].map { time in
          time.split(separator: ":").compactMap { Int($0) }.reduce(0) { 60 * $0 + $1 }
        }
        return (try #require(times.last) - times[0] + 86_400) % 86_400
      }
      #expect(seconds.count == 3)
      for (seconds, expected) in zip(seconds, [55, 5, 5]) {
        #expect(abs(seconds - expected) <= 1, "\(rows)")
      }
    }
  }

  /// Wherever its reader is, and whatever the clock there says.
  @Test func `has one clock, that of the app`() async throws {
    let content = try PageContent()
    content.record(1, content.request(), 4, .response(statusCode: 503))
    let line = PageContent.line(
      #""http.response.status_code":503,"error.type":"503","duration_s":0.004"#, host: "a")
    try await content.show(log: line, choice: "minutes=10") { browser in
      try await browser.setTimeZone("Asia/Tokyo")
      try await browser.reload()
      try await browser.openDrawer(at: "#wrong button")
      let seen = try await browser.evaluate("document.body.innerText")
      #expect(seen.matches(of: /UTC/).count == 1 && !seen.contains(/\d ?[AP]M/))
      let hour = line.dropFirst(#"{"timestamp":"2026-11-24T"#.count).prefix(3)
      #expect(try await browser.rows("wrong")[0].contains("|\(hour)"))
      #expect(seen.contains(" \(hour)"))
    }
  }

  @Test func `has little more than what is wrong on a phone's first screen`() async throws {
    let content = try PageContent()
    for kind in [RequestErrorType.timeout, .connectionLost, .tls] {
      content.record(
        33, content.request(host: "a-host-of-a-long-name.example.com", template: "/products/{id}/reviews"),
        3_000, .failure(kind, statusCode: nil))
    }
    content.serve(1, route: "/cart", 3)
    try await content.show(choice: "minutes=10") { browser in
      try await browser.show(width: 390, height: 844)
      try await browser.wait("!$('filters').open")
      // The filters and the pause: one row. No cell of a head stands alone.
      let tops = "['filtered', 'pause'].map(id => $(id).getBoundingClientRect())"
      #expect(
        try await browser.holds(
          "(boxes => Math.max(...boxes.map(box => box.top)) < Math.min(...boxes.map(box => box.bottom)))(\(tops))"
        ))
      #expect(try await !browser.holds("[...all('th')].some(head => head.checkVisibility())"))
      // A failure in three lines, and all of it.
      try await browser.expectSeen(
        "no complete response in time", "the connection broke", "the TLS handshake failed", "33 of 99",
        "GET /products/{id}/reviews")
      #expect(try await browser.holds("Math.max(...[...$('wrong').rows].map(row => row.clientHeight)) < 80"))
      // What failed and how many stand beside each other, and not on each other.
      #expect(
        try await browser.holds(
          "[...all('#wrong tr')].every(({ cells }) => cells[0].firstChild.getBoundingClientRect().right <= cells[4].getBoundingClientRect().left)"
        ))
      // A time without a heading says nothing: it is when this began, or when it happened last.
      let texts = try await browser.accessibleNodes().filter { $0.role?.value == "StaticText" }
      let rows = try await browser.rows("wrong").count
      for heading in ["Since", "Last"] {
        let count = texts.count { $0.name?.value?.trimmingCharacters(in: .whitespaces) == heading }
        #expect(count == rows, "\(heading)")
      }
      // At most eight tiles, two in a row.
      let tiles = try await browser.evaluate(
        "[...all('dl div')].map(tile => tile.getBoundingClientRect().top)"
      ).split(separator: ",")
      #expect(tiles.count == 8 && Set(tiles).count == 4)
      try await browser.point(at: "#filtered")
      try await browser.wait("$('client').checkVisibility()")
      try await browser.choose("client", "payments")
      try await browser.wait("$('filtered').textContent === 'Filters · payments'")
    }
  }
}
