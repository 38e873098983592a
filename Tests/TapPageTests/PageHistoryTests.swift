import TapEndpoint
import TapPage
import TestSupport

/// What the page opens with, and what it shows of the requests that the app serves, in a real browser.
@Suite(.needs(.browser), .inBrowser) struct PageHistoryTests {
  @Test func `opens with what happened before`() async throws {
    let content = try PageContent()
    content.record(
      300, content.request(client: PageContent.hostile, host: "api.test"), 40, .response(statusCode: 503))
    content.record(5, content.request(host: PageContent.hostile), 1)
    content.serve(7, route: "/carts/{id}", 3)
    try await content.show(choice: "minutes=10") { browser in
      for _ in 1...2 {
        #expect(
          try await browser.text("slowest-title") == "Requests, the slowest by p99 first, in these minutes")
        #expect(
          try await browser.rows("slowest") == [
            "GET /users/{id}|\(PageContent.hostile)|api.test|300|100 %|0 %|40 ms|≈ 49.8 ms",
            "GET /users/{id}|payments|\(PageContent.hostile)|5|0 %|0 %|1 ms|≈ 4.95 ms",
            "GET /carts/{id}|served|–|7|0 %|0 %|3 ms|≈ 4.95 ms",
          ])
        let failures = try await browser.rows("wrong")
        #expect(
          failures.count == 1
            && failures[0].hasPrefix(
              "503 Service Unavailable|GET /users/{id}|\(PageContent.hostile)|api.test|300 of 300|")
        )
        try await browser.waitForDrawing("made-rate", "made-latency", "served-rate", "served-latency")
        try await browser.reload()
      }
    }
  }

  /// A proxy that is restarted, an app that is busy: no reason to do without until the page is loaded again.
  @Test func `reads again what could not be read`() async throws {
    let content = try PageContent()
    content.record(10, content.request(), 40)
    let history = PageHistory(content.metrics.recorder), waits = PageWaits(content.metrics.recorder)
    let isBack = Mutex(false)
    let routes = [("/page/history", history.json), ("/page/waits", waits.json)].map { path, json in
      EndpointRoute.immediate(path) { _ in
        isBack.withLock { $0 }
          ? EndpointResponse(body: json(.now)) : EndpointResponse(status: 503, body: Array("busy".utf8))
      }
    }
    let others = try [.metrics(of: content.registry)] + EndpointRoute.page(showsHistory: true)
    try await PageContent.open(others + routes, isSound: false) { browser in
      try await browser.wait(
        "$('waits-title').checkVisibility() && $('waits-title').textContent === 'What waits is unknown: /page/waits answers 503.'"
      )
      // Until then it does without.
      #expect(try await browser.text("slowest-title").hasSuffix("since the start"))
      #expect(try await browser.text("made-requests") == "10")
      isBack.withLock { $0 = true }
      try await browser.wait("$('slowest-title').textContent.endsWith('in these minutes')")
      // A minute of scrapes would give that title too, and no request of before.
      #expect(try await browser.rows("slowest").first?.contains("|payments|a|10|") == true)
      try await browser.wait("!$('waits-title').checkVisibility()")
    }
  }

  @Test func `fills a time in which it did not scrape`() async throws {
    let content = try PageContent()
    content.record(10, content.request(), 40)
    try await content.show { browser in
      _ = try await browser.evaluate("$('numbers').open = true")
      try await browser.point(at: "#pause")
      content.record(10, content.request(), 40)
      let paused = try await browser.evaluate("Date.now()")
      try await browser.wait("Date.now() - \(paused) > 12000")
      try await browser.point(at: "#pause")
      try await browser.wait("$('made-by-bucket').innerText.includes('up to 50\\u00a0ms\\t20')")
      // The charts have steps of five seconds, of seven at most, and not one for all of that time.
      let widest = """
        [...$('made-by-time').rows].map(row => Date.parse(`2026-01-01T${row.cells[0].innerText}Z`) / 1000)
          .map((time, i, all) => all[i - 1] - time).filter(width => width >= 0).reduce((a, b) => Math.max(a, b), 0)
        """
      let seconds = try #require(Int(try await browser.evaluate(widest)))
      #expect((1...7).contains(seconds), "\(seconds)")
    }
  }

  @Test func `places slots and others in the steps of the charts`() async throws {
    let content = try PageContent(buckets: [2, 4])
    content.record(1, content.request(client: "b"), 100)
    let history = #"""
      {"slot_s": 5, "covered_s": {"made": 40, "served": 40}, "bounds": {"made": [2, 4], "served": []},
        "series": [{"side": "made", "labels": "client=\"a\""},
          {"side": "made", "labels": "otel_metric_overflow=\"true\""},
          {"side": "made", "labels": "client=\"a\",error_type=\"503\""},
          {"side": "made", "labels": "client=\"a\",http_response_status_code=\"404\",error_type=\"404\""}],
        "slots": [{"age_s": 42, "added": [[1, 9, 2]]},
          {"age_s": 22, "added": [[0, 1, 2], [1, 9, 0, 1, 1], [2, 3, 0, 1], [3, 6, 0, 2]]},
          {"age_s": 2, "added": [[0, 1, 2]]}, {"age_s": 1, "added": [[0, 1, 3]]}],
        "slowest": [], "failed": []}
      """#
    try await content.show(history: history) { browser in
      try await browser.point(at: "#pause")
      _ = try await browser.evaluate("($('numbers').open = true)")
      try await browser.wait("$('made-by-bucket').rows.length === 3")
      #expect(
        try await browser.rows("made-by-bucket") == ["up to 2 s|9", "up to 4 s|4", "over 4 s|1"])
      // The newest first: a step of five seconds with seven requests after some without any, and before
      // others.
      let rows = try await browser.rows("made-by-time").map {
        $0.split(separator: "|").dropFirst().prefix(3).joined(separator: "|")
      }
      let seven = try #require(rows.firstIndex(of: "1.4|14.3 %|28.6 %"))
      #expect(rows[(seven + 1)...].prefix(3) == ["0|0 %|0 %", "0|0 %|0 %", "0|0 %|0 %"])
      #expect(rows[..<seven].suffix(3) == ["0|0 %|0 %", "0|0 %|0 %", "0|0 %|0 %"])
      // Two of the oldest step, of which three seconds are in the time; five of the newest one, which is
      // joined with the one before: alone, a second of it would have three.
      #expect(rows.last == "0.67|0 %|0 %" && rows.contains("2.5|0 %|0 %"), "\(rows)")
    }
  }

  @Test func `shows what the app serves beside what it calls`() async throws {
    let content = try PageContent()
    content.record(3, content.request(), 40)
    try await content.show { browser in
      let shown = "[...all('[data-side=served]')].map(node => node.checkVisibility()).join()"
      try await browser.wait("$('numbers').open = true")
      #expect(try await browser.evaluate(shown) == "false,false,false")
      content.serve(60, route: "/carts/{id}", 20)
      content.serve(4, "BREW", route: PageContent.hostile, 2_000, statusCode: 503)
      content.serve(2, route: nil, 2, statusCode: 404)
      try await browser.wait("$('served-requests').textContent === '66'")
      try await browser.wait("$('slowest').rows.length === 4")
      #expect(try await browser.evaluate(shown) == "true,true,true")
      // A 4xx is the caller's error.
      for (id, text) in [("served-errors", "4 (6.06\\u00a0%)"), ("served-refused", "2 (3.03\\u00a0%)")] {
        try await browser.wait("$('\(id)').textContent === '\(text)'")
      }
      #expect(
        try await browser.rows("slowest").filter { $0.contains("|served|") } == [
          "_OTHER \(PageContent.hostile)|served|–|4|100 %|0 %|2 s|≈ 2.48 s",
          "GET /carts/{id}|served|–|60|0 %|0 %|20 ms|≈ 24.9 ms", "GET|served|–|2|0 %|100 %|2 ms|≈ 4 ms",
        ])
      // A filter that does not concern them hides what the app serves: it has no client.
      try await browser.choose("client", "payments")
      try await browser.wait("\(shown) === 'false,false,false'")
      #expect(try await browser.evaluate("[...$('client').options].map(o => o.value).join()") == ",payments")
      try await browser.choose("client", "")
      try await browser.choose("path", "/carts/{id}")
      try await browser.wait("$('served-requests').textContent === '60'")
    }
  }
}
