import TapEndpoint
import TestSupport

@testable import TapPage

@Suite(.needs(.browser), .inBrowser) struct PageTests {
  @Test func `shows what the registry has`() async throws {
    let content = try PageContent()
    try content.registry.register(
      TargetInfo(serviceName: "shop", resourceAttributes: "service.version=1.4.2,service.instance.id=shop-7"))
    content.record(1_234, content.request(host: "api.test"), 40)
    content.record(60, content.request(host: PageContent.hostile), 2_000, .response(statusCode: 503))
    content.record(
      6, content.request(client: "search", host: "down.test"), 9_000, .failure(.timeout, statusCode: nil))
    content.metrics.requestStarted(content.request(host: "api.test"))
    try await content.show { browser in
      // By histogram_quantile over the buckets 0.025 to 0.05, 1 to 2.5 and 7.5 to 10.
      let tiles = ["1,300", "66 (5.08 %)", "1", "≈ 38.2 ms", "≈ 2.33 s"]
      #expect(
        try await browser.texts("made-requests", "made-errors", "made-active", "made-p50", "made-p99")
          == tiles)
      // And whom it shows.
      try await browser.expect(["$('service').innerText": "shop"])
      #expect(try await browser.text("about").hasPrefix("version 1.4.2 · shop-7"))
      try await browser.expect(["document.title": "shop 1.4.2 shop-7 – SessionTap"])
      try await browser.wait("$('slowest').rows.length === 3")
      let slowest = try await browser.rows("slowest")
      #expect(slowest[0] == "GET /users/{id}|search|down.test|6|100 %|0 %|9 s|≈ 9.97 s")
      #expect(slowest[1].contains("|\(PageContent.hostile)|"))

      // What happens while the page is open is in the charts.
      content.record(300, content.request(host: "api.test"), 40)
      try await browser.wait("$('made-requests').textContent === '1,600'")
      try await browser.waitForDrawing("made-rate", "made-share", "made-latency", "made-heat")
      try await browser.wait("$('numbers').open = true")
      try await browser.wait("$('made-by-bucket').innerText.includes('up to 50\\u00a0ms\\t1,534')")

      // The choice of a client, and of a host.
      for (select, value, requests) in [
        ("client", "search", "6"), ("client", "", "1,600"), ("host", "api.test", "1,534"),
      ] {
        try await browser.choose(select, value)
        try await browser.wait("$('made-requests').textContent === '\(requests)'")
      }
    }
  }

  @Test func `counts errors and 4xx apart, in both directions`() async throws {
    let content = try PageContent()
    let request = content.request()
    content.record(10, request, 1)
    content.record(4, request, 1, .response(statusCode: 404))
    content.record(3, request, 1, .response(statusCode: 503))
    content.record(2, request, 1, .failure(.connectionLost, statusCode: 404))
    content.record(1, request, 1, .cancelled)
    content.serve(5, route: "/a", 1, statusCode: 404)
    content.serve(15, route: "/a", 1, statusCode: 500)
    try await content.show(choice: "minutes=10") { browser in
      let tiles = try await browser.texts("made-errors", "made-refused", "served-errors", "served-refused")
      #expect(tiles == ["5 (25 %)", "4 (20 %)", "15 (75 %)", "5 (25 %)"])
      try await browser.expect([
        "[...all('dt')].map(node => node.innerText).filter(text => /Err/.test(text)).join('; ')":
          "Errors: no complete response, or 5xx; Errors: no complete response, or 5xx"
      ])
      #expect(try await browser.rows("slowest").contains { $0.contains("|payments|a|20|25 %|20 %|") })
    }
  }

  @Test func `says how to begin`() async throws {
    let content = try PageContent()
    try await content.show { browser in
      try await browser.wait("$('none-yet').checkVisibility()")
      #expect(try await browser.text("none-yet").contains("No session goes through this tap yet"))
      #expect(try await browser.text("none-yet").contains("let session = tap.session(client: \"users\")"))
      #expect(try await !browser.holds("$('totals-title').checkVisibility()"))
      content.metrics.requestStarted(content.request())
      try await browser.wait("!$('none-yet').checkVisibility()")
      #expect(try await browser.text("wrong-title").hasPrefix("All is well: no request ended in the last "))
      content.record(1, content.request(), 1)
      try await browser.wait("$('wrong-title').textContent.startsWith('All is well: 1 request ended ')")
    }
  }

  @Test func `says what all charts show at the moment under the pointer`() async throws {
    // Half a minute with sixty requests, and one without any.
    let history = #"""
      {"id": "1", "slot": 100, "slot_s": 30, "slot_age_s": 30, "covered_s": {"made": 60, "served": 60},
        "bounds": {"made": [0.005, 0.01, 0.025], "served": []},
        "series": [{"side": "made", "labels": "client=\"a\""},
          {"side": "made", "labels": "client=\"a\",error_type=\"503\""},
          {"side": "made", "labels": "client=\"a\",error_type=\"404\""}],
        "slots": [{"slot": 99, "added": [{"series": 0, "sum_s": 0.9, "counts": [0, 0, 51]},
          {"series": 1, "sum_s": 0.05, "counts": [0, 0, 3]}, {"series": 2, "sum_s": 0.1, "counts": [0, 0, 6]}]}],
        "slowest": [], "failed": []}
      """#
    let route = EndpointRoute.answering("/page/history") { _ in history }
    try await PageContent().show([route], choice: "minutes=1") { browser in
      try await browser.point(at: "#pause")
      func seen() async throws -> String {
        try await browser.evaluate(
          """
          ["rate-now-0", "share-now-0", "share-now-1", "latency-now-0", "heat-now-0"].map(id => $(`made-${id}`).innerText).join("|")
            + " " + [...all(".cross")].filter(one => one.checkVisibility()).map(one => Math.round(parseFloat(one.style.left))).join()
          """)
      }
      let none = "0|0 %|0 %|–|– "
      #expect(try await seen() == none)
      try await browser.hover(over: "#made-rate", x: 0.25, y: 0.5)
      let rate = try await seen()
      #expect(rate == "2|5 %|10 %|≈ 17.5 ms|up to 25 ms: 2/s 25,25,25,25")
      try await browser.hover(over: "#made-heat", x: 0.25, y: 0.99)
      let heat = try await seen()
      #expect(heat == "2|5 %|10 %|≈ 17.5 ms|up to 5 ms: 0/s 25,25,25,25")
      try await browser.hover(over: "h1", x: 0.5, y: 0.5)
      #expect(try await seen() == none)
    }
  }

  @Test func `filters by its rows`() async throws {
    let content = try PageContent()
    for (client, count, time) in [("a", 3, 20), ("b", 1, 80), ("c", 2, 500), ("d", 1, 12_000)] {
      content.record(count, content.request(client: client, host: "h"), time)
    }
    try await content.show { browser in
      let clients = "[...$('slowest').rows].map(row => row.cells[1].innerText).join('')"
      try await browser.wait("\(clients) === 'dcba'")
      // Of one request the duration is known. Beyond the last bucket no number is.
      let slowest = try await browser.rows("slowest")
      #expect(slowest[0].contains("|d|h|1|0 %|0 %|12 s|> 10 s"))
      #expect(slowest[2].contains("|b|h|1|0 %|0 %|80 ms|≈ 80 ms"))
      // By keyboard as by a click.
      try await browser.evaluate("all('#slowest button')[3].focus()")
      try await browser.press("Enter", code: 13, text: "\r")
      try await browser.wait("\(clients) === 'c' && $('made-requests').textContent === '2'")
      try await browser.expect([
        "location.hash": "#side=made&client=c&host=h&path=%2Fusers%2F%7Bid%7D",
        "$('path').value": "/users/{id}",
      ])
      // Of gauges no path is known.
      try await browser.wait("$('made-active').textContent === '–'")
    }
  }

  @Test func `shows where the time goes`() async throws {
    let content = try PageContent()
    try await content.show { browser in
      let isShown = "(id => $(id).checkVisibility())"
      #expect(try await !browser.holds("\(isShown)('phases-title')"))

      // A request of which no phase is known, as where the tap cannot read an account of the transfers.
      content.record(1, content.request(host: "api.test"), 1_000, opened: 1)
      try await browser.wait("\(isShown)('phases-title')")
      try await browser.wait("$('phases').innerText.endsWith('The client payments reports no phases.')")

      // One new connection, then three requests over it.
      let served: [RequestTimings.Phase: Int] = [.processing: 80, .transfer: 0]
      let first = served.merging([.resolve: 4, .connect: 6, .tls: 30]) { $1 }
      content.record(1, content.request(host: "api.test"), 120, phases: first, opened: 1)
      content.record(
        3, content.request(host: "api.test"), 80, phases: served, opened: 0,
        roundTrip: .milliseconds(40), sentAgain: 1)
      // Two that reached no server, and one that has waited for a connection until its time was over.
      content.record(
        2, content.request(client: "search", host: "down.test"), 3,
        .failure(.connect, statusCode: nil), phases: [.resolve: 1, .connect: 2], opened: 0)
      content.record(
        1, content.request(client: PageContent.hostile, host: "busy.test"), 10_000,
        .failure(.timeout, statusCode: nil), phases: [.queue: 10_000])
      try await browser.wait("all('#phases li').length === 3")
      let rows = try await browser.evaluate(
        "[...all('#phases li')].map(row => [...row.querySelectorAll('p > b, .now > *, p span.phase, .verdict')]"
          + ".map(node => node.textContent).join('|')).join('\\n')")
      #expect(
        rows == """
          \(PageContent.hostile) → busy.test|10 s mean|1 request|queue 10 s|1 request timed out: what the server did meanwhile is unknown.
          payments → api.test|272 ms mean|5 requests|60 % on a reused connection|40 ms round trip|3 segments sent again|resolve 800 µs|connect 1.2 ms|tls 6 ms|processing 64 ms|transfer 0 ms|unknown 200 ms
          search → down.test|3 ms mean|2 requests|resolve 1 ms|connect 2 ms
          """)
      // The pieces of a bar are as wide as their part of the time.
      let bar = "[...all('.bar')[1].children]"
      let titles = try await browser.evaluate("\(bar).map(piece => piece.title).join('; ')")
      #expect(
        titles
          == "resolve 800 µs, 0.294 %; connect 1.2 ms, 0.441 %; tls 6 ms, 2.21 %; processing 64 ms, 23.5 %; "
          + "transfer 0 ms, 0 %; unknown 200 ms, 73.5 %")
      let widths = try await browser.evaluate("\(bar).map(piece => piece.clientWidth)")
        .split(separator: ",").compactMap { Double($0) }
      #expect(widths.count == 6)
      for (width, part) in zip(widths, [0.8, 1.2, 6, 64, 0, 200]) {
        #expect(abs(width - part / 272 * widths.reduce(0, +)) < 2, "\(widths)")
      }

      try await browser.choose("client", "payments")
      try await browser.wait("all('#phases li').length === 1")
      // Of connections no path is known, and each figure of them says so.
      let facts = "document.querySelector('#phases .now').textContent"
      #expect(try await !browser.holds("\(facts).includes('on all paths')"))
      try await browser.choose("path", "/users/{id}")
      try await browser.wait("\(facts).endsWith('on all paths3 segments sent again, on all paths')")
      try await browser.expect([
        "document.querySelector('#phases b').textContent": "payments → api.test /users/{id}"
      ])
    }
  }

  @Test func `works by keyboard`() async throws {
    let content = try PageContent()
    content.record(1, content.request(host: "a.test"), 1_000, phases: [.processing: 1_000])
    try await content.show(log: "") { browser in
      var order: [String] = []
      repeat {
        try await browser.press("Tab", code: 9)
        order.append(
          try await browser.evaluate(
            "(one => one.id || one.getAttribute('aria-labelledby') || one.textContent)(document.activeElement)"
          ))
        // Whatever has the focus shows it.
        #expect(try await browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none")
      } while order.last != "/healthz" && order.count < 60
      // The controls, each table, and each row by its buttons.
      #expect(
        order == [
          "side", "client", "host", "path", "minutes", "pause", "wrong-title", "The charts in numbers",
          "slowest-title", "GET /users/{id}", "payments", "only", "slower", "text", "lines-title",
          "/metrics", "/healthz",
        ])
      try await browser.evaluate("$('pause').focus()")
      for (status, isPressed) in [("Paused at ", "true"), ("Live, every 2 s", "false")] {
        try await browser.press(" ", code: 32, text: " ")
        #expect(try await browser.text("status").hasPrefix(status))
        try await browser.expect(["$('pause').getAttribute('aria-pressed')": isPressed])
      }
    }
  }

  @Test func `speaks to a screen reader`() async throws {
    let content = try PageContent()
    content.record(9, content.request(host: "a.test"), 1_000, phases: [.processing: 1_000])
    try await content.show(log: "{\"message\":\"hello\"}\n") { browser in
      try await browser.wait("$('numbers').open = true")
      let nodes = try await browser.accessibleNodes()
      let named = Set([
        "button", "combobox", "form", "image", "link", "region", "table", "heading", "columnheader",
      ])
      var counts: [String: Int] = [:]
      for node in nodes where named.contains(node.role) {
        counts[node.role, default: 0] += 1
        #expect(!node.name.isEmpty, "\(node.role) without a name")
      }
      let expected = ["image": 4, "combobox": 6, "table": 5, "heading": 9]
      #expect(counts.filter { expected.keys.contains($0.key) } == expected)
      let pictures = nodes.filter { $0.role == "image" }.map(\.name)
      #expect(pictures.contains { $0.hasPrefix("Requests made by percentile of their latency: now ") })
      // Only the state of the page is announced by itself, not the numbers that change all the time.
      let live = "all('[aria-live], [role=status], [role=alert], [role=log], output')"
      try await browser.expect(["[...\(live)].map(node => node.id).join()": "status"])
    }
  }

  /// After a restart all begins again, and buckets may be others.
  @Test func `says that the app is gone, and begins again when it is back`() async throws {
    let first = try PageContent(), second = try PageContent(buckets: [1])
    for (content, count) in [(first, 10), (second, 2)] { content.record(count, content.request(), 40) }
    let histories = [first, second].map { PageHistory($0.metrics.recorder) }
    let current = Mutex(0)
    let history = EndpointRoute.onThreads("/page/history") { _ in
      EndpointResponse(body: histories[current.withLock { $0 }].json())
    }
    try await first.show([history], isSound: false) { browser in
      try await browser.expect(["$('made-requests').innerText": "10"])
      try await browser.evaluate("window.isOld = true")
      try await browser.set(isOffline: true)
      try await browser.wait("$('status').textContent === 'No data: the app does not answer'")
      try await browser.expect(["$('status').className": "failed"])
      current.withLock { $0 = 1 }
      try await browser.set(isOffline: false)
      try await browser.wait("!window.isOld && document.getElementById('made-requests')?.textContent === '2'")
    }
  }

  /// Functions of the script, which is loaded once.
  @Test func `computes`() async throws {
    let rows: KeyValuePairs<String, String> = [
      // Three digits, in the largest unit that fits.
      "[0.9994, 0.99951, 0.0009996, 0, 61.27].map(seconds).join()": "999 ms,1 s,1 ms,0 ms,61.3 s",
      // A time that is none is not said.
      "[1763717400123, Infinity, NaN].map(dateAndTime).join()": "2025-11-21 09:30:00.123,,",
      // A name cannot turn the text around it, and an empty one is none.
      #"element("b", "a\u202eb", ["\u2066c"]).textContent + ["made", "served"].map(side => clientOf({ client: "", side }))"#:
        "a b c–,served",
      // The clocks of two machines. Date has whole seconds.
      """
      [0, 900, 3600000, -7200000].map(ahead => {
        setClock(new Date(Date.now() + ahead).toUTCString());
        return Math.round((epoch + performance.now() - Date.now()) / 60000);
      }).join()
      """: "0,0,60,-120",
      // An estimate is never above the slowest request by more than its bucket's width, and never below the
      // bucket.
      """
      (() => {
        const bounds = [0.1, 0.25, 0.5, 1, 2.5, Infinity];
        let wrong = [], state = 7;
        const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
        for (let round = 0; round < 2000; round++) {
          const values = Array.from({ length: 1 + Math.floor(random() * 20) }, () => random() ** 3 * 2.5).sort((a, b) => a - b);
          const numbers = [values.length, values.reduce((a, b) => a + b), 0, 0, ...bounds.map((bound, i) =>
            values.filter(value => value <= bound && (i === 0 || value > bounds[i - 1])).length)];
          for (const q of [0.5, 0.9, 0.99]) {
            const { value } = estimate(q, numbers, bounds), exact = values[Math.ceil(q * values.length) - 1];
            const i = bounds.findIndex(bound => exact <= bound);
            if (!(value >= (bounds[i - 1] || 0) && value <= bounds[i])) wrong.push([q, value, exact, values]);
          }
        }
        return JSON.stringify(wrong.slice(0, 3));
      })()
      """: "[]",
    ]
    try await PageContent().show { browser in try await browser.expect(rows) }
  }
}
