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
        try await browser.evaluate("scrollTo(0, 0)")
        try await body(browser, first)
        try await browser.evaluate("choose({ request: '', trace: '' })")
        try await browser.wait("$('drawer').hidden")
      }
    }
  }

  @Test func `a quiet service has a quiet page`() async throws {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    content.record(40, request, 40)
    content.record(5, request, 3, .response(statusCode: 404))
    try await Self.show(content, log: nil) { browser, first in
      let seen = try await browser.seen(within: first)
      #expect(
        seen.contains("All is well: 45 requests ended in the last ")
          && seen.contains("and none of them failed."))
      // What is no trouble is apart; the charts come next.
      #expect(seen.contains("1 note on what is over, as before, or little|The last minutes|"))
      try await browser.point(at: "#notes-words")
      try await browser.wait("$('notes').checkVisibility()")
      try await browser.openDrawer(at: "#notes button")
      try await browser.expectSeen("The server answered 404 Not Found.")
      try await browser.evaluate("$('notes-part').open = false")
    }
  }

  /// The process keeps the newest request of each failure, as it keeps the slowest ones.
  @Test(arguments: [true, false])
  func `what is wrong comes first, and leads to its request, with and without a log`(hasLog: Bool)
    async throws
  {
    let content = try PageContent()
    let request = content.request(host: "a.test")
    content.record(20, request, 40, phases: [.processing: 40])
    content.record(38, request, 4, .response(statusCode: 503), phases: [.processing: 4])
    content.serve(38, route: "/cart", 8, statusCode: 502)
    let log = (1...2).map {
      PageContent.line(
        #""span_id":"\#($0)","http.response.status_code":503,"error.type":"503","duration_s":0.004,"processing_s":0.003"#,
        path: "/users/\($0)")
    }
    try await Self.show(content, log: hasLog ? log.joined() : nil) { browser, first in
      try await browser.expectSeen(
        "2 things wrong now", "38 of 58 requests of `payments` to GET a.test/users/{id} failed", within: first
      )
      // None of them waits for others.
      let isHead = "head => head.checkVisibility() && head.textContent === 'Whose time'"
      #expect(try await !browser.holds("[...all('th')].some(\(isHead))"))
      let rows = try await browser.rows("wrong").map {
        $0.split(separator: "|", omittingEmptySubsequences: false)
      }
      #expect(rows.map { $0[1] } == ["served", "payments"] || rows.map { $0[1] } == ["payments", "served"])
      for row in rows {
        // Since when, and when last.
        #expect(
          row.count == 5 && row[3...].allSatisfy { $0.wholeMatch(of: /\d\d:\d\d:\d\d/) != nil }, "\(row)")
      }
      // What is out of sight takes no click.
      await #expect(throws: TestFailure.self) { try await browser.point(at: "#slowest tr button") }
      try await browser.openDrawer(at: "#wrong tr:nth-child(1) button")
      try await browser.expectSeen(
        hasLog ? "GET https://a.test/users/2" : "GET /users/{id}",
        "The server answered 503 Service Unavailable.")
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
    try await Self.show(content, log: nil) { browser, _ in
      try await browser.evaluate("$('notes-part').open = true")
      try await browser.openDrawer(at: "#notes tr button")
      try await browser.expectSeen("|GET /users/{id}|", "mean|of 68 requests to this path|341 ms")
      try await browser.wait(
        "$('drawer-content').textContent.includes('It took 2.66 s longer than the mean of 68 requests like it, 341 ms: 2.47 s more in processing.')"
      )
    }
  }

  /// Wherever its reader is, and whatever the clock there says.
  @Test func `has one clock, that of the app`() async throws {
    let content = try PageContent()
    content.record(3, content.request(), 4, .response(statusCode: 503))
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
      // All of a sentence, and nothing beside it.
      try await browser.expectSeen(
        "99 of 99 requests of `payments`", "no complete response in time", "the connection broke")
      #expect(try await browser.holds("Math.max(...[...$('wrong').rows].map(row => row.clientHeight)) < 240"))
      // A time without a heading says nothing: it is when this began, or when it happened last.
      let texts = try await browser.accessibleNodes().filter { $0.role == "StaticText" }
      let rows = try await browser.rows("wrong").count
      for heading in ["Since", "Last"] {
        let count = texts.count { $0.name.trimmingCharacters(in: .whitespaces) == heading }
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
