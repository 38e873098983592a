import TapEndpoint
import TestSupport

@testable import TapPage

/// What the page reads of the last minutes, and what it shows of the requests that the app serves, in a real
/// browser.
@Suite(.needs(.browser), .inBrowser) struct PageHistoryTests {
  /// A proxy that is restarted, an app that is busy: no reason to do without until the page is loaded again.
  @Test func `reads again what could not be read`() async throws {
    let content = try PageContent()
    content.record(10, content.request(), 40)
    let waits = PageWaits(content.metrics.recorder)
    let isBack = Mutex(false)
    let routes = [
      EndpointRoute.immediate("/page/waits") { _ in
        isBack.withLock { $0 }
          ? EndpointResponse(body: waits.json()) : EndpointResponse(status: 503, body: Array("busy".utf8))
      },
      .immediate("/why") { _ in EndpointResponse(status: 404) },
    ]
    try await content.show(routes, isSound: false) { browser in
      try await browser.wait(
        "$('waits-title').textContent === 'What hangs is unknown: /page/waits answers 503.'")
      try await browser.expect([
        "$('wrong-title').innerText": "What is wrong is unknown: /why answers 404.",
        "$('made-requests').innerText": "10",
      ])
      isBack.withLock { $0 = true }
      try await browser.wait("!$('waits-title').checkVisibility()")
    }
  }

  @Test func `places slots in the steps of the charts, also after a pause`() async throws {
    let content = try PageContent(buckets: [2, 4])
    let asked = Mutex<[String]>([])
    // The second answer has no more than the last step, and one after it.
    let first = #"""
      {"slot": 1000, "slot_age_s": 2.5, "covered_s": {"made": 40, "served": 40}, "slots": [
        {"slot": 992, "added": [{"series": 1, "sum_s": 9, "counts": [2]}]},
        {"slot": 996, "added": [{"series": 0, "sum_s": 1, "counts": [2]}, {"series": 1, "sum_s": 9, "counts": [0, 1, 1]},
          {"series": 2, "sum_s": 3, "counts": [0, 1]}, {"series": 3, "sum_s": 6, "counts": [0, 2]}]},
        {"slot": 1000, "added": [{"series": 0, "sum_s": 1, "counts": [3]}]}],
      """#
    let second = #"""
      {"slot": 1002, "slot_age_s": 4, "covered_s": {"made": 51.5, "served": 51.5}, "slots": [
        {"slot": 1000, "added": [{"series": 0, "sum_s": 1, "counts": [5]}]},
        {"slot": 1002, "added": [{"series": 0, "sum_s": 1, "counts": [2]}]}],
      """#
    let rest = #"""
      "id": "1", "slot_s": 5, "bounds": {"made": [2, 4], "served": []},
        "series": [{"side": "made", "labels": "client=\"a\""},
          {"side": "made", "labels": "otel_metric_overflow=\"true\""},
          {"side": "made", "labels": "client=\"a\",error_type=\"503\""},
          {"side": "made", "labels": "client=\"a\",http_response_status_code=\"404\",error_type=\"404\""}],
        "slowest": [], "failed": []}
      """#
    let history = EndpointRoute.answering("/page/history") { request in
      asked.withLock { $0.append(request.query ?? "") }
      return (request.query == "since=0" ? first : second) + rest
    }
    try await content.show([history]) { browser in
      try await browser.point(at: "#pause")
      try await browser.evaluate("($('numbers').open = true)")
      try await browser.wait("$('made-by-bucket').rows.length === 3")
      func rows() async throws -> [String] {
        try await browser.rows("made-by-time").map {
          $0.split(separator: "|").dropFirst().prefix(3).joined(separator: "|")
        }
      }
      // The newest first: the current one, three without requests, one of which all is known, three without,
      // and the oldest, of which half is covered.
      if asked.withLock({ $0.count }) == 1 {
        #expect(try await browser.rows("made-by-bucket") == ["up to 2 s|7", "up to 4 s|4", "over 4 s|1"])
        let none = "0|0 %|0 %"
        #expect(
          try await rows() == [
            "1.2|0 %|0 %", none, none, none, "1.4|14.3 %|28.6 %", none, none, none, "0.8|0 %|0 %",
          ])
      }
      try await browser.point(at: "#pause")
      try await browser.wait("$('made-by-bucket').innerText.includes('up to 2\\u00a0s\\t11')")
      try await expectEqual(rows().prefix(3), ["0.5|0 %|0 %", "0|0 %|0 %", "1|0 %|0 %"])
      let all = asked.withLock(\.self)
      #expect(all.first == "since=0" && all.contains("since=1000"), "\(all)")
    }
  }

  @Test func `shows what the app serves beside what it calls`() async throws {
    let content = try PageContent()
    content.record(3, content.request(), 40)
    try await content.show { browser in
      let shown = "[...all('[data-side=served]')].map(node => node.checkVisibility()).join()"
      try await browser.wait("$('numbers').open = true")
      try await browser.expect([shown: "false,false,false,false"])
      content.serve(60, route: "/carts/{id}", 20)
      content.serve(4, "BREW", route: PageContent.hostile, 2_000, statusCode: 503)
      content.serve(2, route: nil, 2, statusCode: 404)
      try await browser.wait("$('served-requests').textContent === '66'")
      try await browser.wait("$('slowest').rows.length === 4")
      try await browser.expect([shown: "true,true,true,true"])
      try await browser.waitForDrawing("served-rate", "served-latency")
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
      try await browser.wait("\(shown) === 'false,false,false,false'")
      try await browser.expect(["[...$('client').options].map(o => o.value).join()": ",payments"])
      try await browser.choose("client", "")
      try await browser.choose("path", "/carts/{id}")
      try await browser.wait("$('served-requests').textContent === '60'")
    }
  }
}
