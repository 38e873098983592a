import Foundation
import TapCore
import TapEndpoint
import TapPage
import TestSupport
import Testing

/// The page in a real browser.
@Suite(.needs(.browser), .enabled(if: Tool.isUsable("chromium"), "chromium is missing"))
struct PageTests {
  private static let hostile = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>"

  @Test func `shows what the registry has`() async throws {
    let content = try PageContent()
    content.record(
      1_234, content.request(host: "api.example.com"), .milliseconds(40), .response(statusCode: 200))
    content.record(60, content.request(host: Self.hostile), .seconds(2), .response(statusCode: 503))
    content.record(
      6, content.request(client: "search", host: "down.example.com"), .seconds(9),
      .failure(.timeout, statusCode: nil))
    content.metrics.requestStarted(content.request(host: "api.example.com"))
    try await content.show { browser, _ in
      #expect(try await browser.text("made-requests") == "1,300")
      #expect(try await browser.text("made-errors") == "66 (5.08\u{A0}%)")
      #expect(try await browser.text("made-active") == "1")
      // By histogram_quantile over the buckets 0.025 to 0.05, 1 to 2.5 and 7.5 to 10.
      #expect(try await browser.text("made-p50") == "≈\u{A0}38.2\u{A0}ms")
      #expect(try await browser.text("made-p99") == "≈\u{A0}2.33\u{A0}s")
      try await browser.wait("document.getElementById('slowest').rows.length === 3")
      let slowest = try await browser.text("slowest")
      #expect(
        slowest.hasPrefix("GET\t/users/{id}\tdown.example.com\tsearch\t6\t6\t9\u{A0}s\t≈\u{A0}9.97\u{A0}s\n"))
      #expect(slowest.contains("\t\(Self.hostile)\t"))

      // What happens while the page is open is in the charts, and in the table of those who make requests.
      content.record(
        300, content.request(host: "api.example.com"), .milliseconds(40), .response(statusCode: 200))
      try await browser.wait("document.getElementById('made-requests').textContent === '1,600'")
      try await browser.wait(
        "document.getElementById('parties').innerText.startsWith('payments\\tapi.example.com\\t')")
      for id in ["made-rate", "made-share", "made-latency"] {
        #expect(
          try await browser.evaluate(
            "document.querySelector('#\(id) path').getAttribute('d').startsWith('M')") == "true")
      }
      let painted =
        "(heat => heat.getContext('2d').getImageData(0, 0, heat.width, heat.height).data)(document.getElementById('made-heat'))"
      #expect(try await browser.evaluate("\(painted).some(byte => byte > 0)") == "true")
      try await browser.wait("document.getElementById('numbers').open = true")
      try await browser.wait(
        "document.getElementById('made-by-bucket').innerText.includes('up to 50\\u00a0ms\\t300')")

      // The choice of a client, and of a host.
      for (select, value, requests) in [
        ("client", "search", "6"), ("client", "", "1,600"), ("host", "api.example.com", "1,534"),
      ] {
        _ = try await browser.evaluate(
          "(document.getElementById('\(select)').value = '\(value)', filters.dispatchEvent(new Event('change')))"
        )
        #expect(try await browser.text("made-requests") == requests)
      }
      #expect(browser.complaints == [])
    }
  }

  @Test func `shows where the time goes`() async throws {
    let content = try PageContent()
    try await content.show { browser, _ in
      let isShown = "(id => document.getElementById(id).checkVisibility())"
      #expect(try await browser.evaluate("\(isShown)('phases-title')") == "false")

      // Requests of which no phase is known, as where the tap cannot read an account of the transfers.
      content.record(
        1, content.request(host: "api.example.com"), .seconds(1), .response(statusCode: 200), opened: 1)
      try await browser.wait("\(isShown)('phases-title')")
      #expect(try await browser.text("phases-none").hasPrefix("No phase of these requests is known."))
      #expect(try await browser.evaluate("\(isShown)('phases')") == "false")

      // One new connection, then three requests over it.
      let served: [RequestTimings.Phase: Duration] = [.processing: .milliseconds(80), .transfer: .zero]
      let first = served.merging([
        .resolve: .milliseconds(4), .connect: .milliseconds(6), .tls: .milliseconds(30),
      ]) { $1 }
      content.record(
        1, content.request(host: "api.example.com"), .milliseconds(120), .response(statusCode: 200),
        phases: first, opened: 1)
      content.record(
        3, content.request(host: "api.example.com"), .milliseconds(80), .response(statusCode: 200),
        phases: served, opened: 0, roundTrip: .milliseconds(40), sentAgain: 1)
      // Two that reached no server, and one whose wait for a connection is known alone.
      content.record(
        2, content.request(client: "search", host: "down.example.com"), .milliseconds(3),
        .failure(.connect, statusCode: nil),
        phases: [.resolve: .milliseconds(1), .connect: .milliseconds(2)], opened: 0)
      content.record(
        1, content.request(client: Self.hostile, host: "busy.example.com"), .seconds(10), .cancelled,
        phases: [.queue: .seconds(10)])
      try await browser.wait("document.querySelectorAll('#phases li').length === 3")
      #expect(try await browser.evaluate("\(isShown)('phases-none')") == "false")
      let rows = try await browser.evaluate(
        "[...document.querySelectorAll('#phases li')].map(row => [...row.querySelectorAll('b, .now span, p:last-child span')]"
          + ".map(node => node.textContent).join('|')).join('\\n')")
      #expect(
        rows.replacing("\u{A0}", with: " ") == """
          \(Self.hostile) → busy.example.com|10 s mean|1 request|queue 10 s
          payments → api.example.com|272 ms mean|5 requests|60 % on a reused connection|40 ms round trip|3 segments sent again|resolve 800 µs|connect 1.2 ms|tls 6 ms|processing 64 ms|transfer 0 ms|unknown 200 ms
          search → down.example.com|3 ms mean|2 requests|resolve 1 ms|connect 2 ms
          """)
      // The pieces of a bar are as wide as their part of the time.
      let bar = "[...document.querySelectorAll('.bar')[1].children]"
      let titles = try await browser.evaluate("\(bar).map(piece => piece.title).join('; ')")
      #expect(
        titles.replacing("\u{A0}", with: " ")
          == "resolve 800 µs, 0.294 %; connect 1.2 ms, 0.441 %; tls 6 ms, 2.21 %; processing 64 ms, 23.5 %; "
          + "transfer 0 ms, 0 %; unknown 200 ms, 73.5 %"
      )
      let widths = try await browser.evaluate("\(bar).map(piece => piece.clientWidth)")
        .split(separator: ",").compactMap { Double($0) }
      #expect(widths.count == 6)
      for (width, part) in zip(widths, [0.8, 1.2, 6, 64, 0, 200]) {
        #expect(abs(width - part / 272 * widths.reduce(0, +)) < 2, "\(widths)")
      }

      // Each phase in numbers: of the requests that had it. By histogram_quantile over the buckets 0.05 to 0.1.
      try await browser.wait("document.getElementById('phase-numbers').open = true")
      try await browser.wait("document.getElementById('by-phase').rows.length === 8")
      let table = try await browser.text("by-phase")
      #expect(table.contains("payments\tapi.example.com\tprocessing\t4\t80\u{A0}ms\t≈\u{A0}99.5\u{A0}ms\n"))
      #expect(table.contains("payments\tapi.example.com\ttls\t1\t30\u{A0}ms\t"))

      _ = try await browser.evaluate(
        "(document.getElementById('client').value = 'search', filters.dispatchEvent(new Event('change')))")
      try await browser.wait("document.querySelectorAll('#phases li').length === 1")
      #expect(browser.complaints == [])
    }
  }

  @Test func `says that the app is gone and back`() async throws {
    let content = try PageContent()
    let routes = [try EndpointRoute.metrics(of: content.registry), .page()]
    let first = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: routes)
    let port = try #require(try first.start().port)
    try await Browser.use { browser in
      try await browser.open("http://127.0.0.1:\(port)/")
      await first.shutdown(within: .zero)
      try await browser.wait(
        "document.getElementById('status').textContent === 'No scrape: the app does not answer'")
      #expect(try await browser.evaluate("document.getElementById('status').className") == "failed")
      let second = Endpoint(configuration: .init(address: .loopback(port: port)), routes: routes)
      try second.start()
      try await browser.wait("document.getElementById('status').textContent === 'Live, every 2 s'")
      await second.shutdown(within: .zero)
    }
  }

  @Test func `works by keyboard`() async throws {
    let content = try PageContent()
    content.record(
      1, content.request(host: "a.example.com"), .seconds(1), .response(statusCode: 200),
      phases: [.processing: .seconds(1)])
    try await content.show(log: "") { browser, _ in
      var order: [String] = []
      repeat {
        try await browser.press("Tab", code: 9)
        order.append(
          try await browser.evaluate(
            "(one => one.id || one.getAttribute('aria-labelledby') || one.textContent)(document.activeElement)"
          ))
        // Whatever has the focus shows it.
        #expect(try await browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none")
      } while order.last != "/readyz" && order.count < 20
      #expect(
        order == [
          "client", "host", "pause", "The charts in numbers", "parties-title", "The phases in numbers",
          "slowest-title",
          "log-title", "/metrics", "/healthz", "/readyz",
        ])
      _ = try await browser.evaluate("document.getElementById('pause').focus()")
      for (status, isPressed) in [("Paused", "true"), ("Live, every 2 s", "false")] {
        try await browser.press(" ", code: 32, text: " ")
        #expect(try await browser.text("status") == status)
        #expect(
          try await browser.evaluate("document.getElementById('pause').getAttribute('aria-pressed')")
            == isPressed)
      }
    }
  }

  @Test func `speaks to a screen reader`() async throws {
    let content = try PageContent()
    content.record(
      9, content.request(host: "a.example.com"), .seconds(1), .response(statusCode: 200),
      phases: [.processing: .seconds(1)])
    try await content.show(log: "{\"message\":\"hello\"}\n") { browser, _ in
      try await browser.wait("document.getElementById('numbers').open = true")
      try await browser.wait("document.getElementById('phase-numbers').open = true")
      let nodes = try await browser.accessibleNodes()
      let named = Set([
        "button", "combobox", "form", "image", "link", "region", "table", "heading", "columnheader",
      ])
      var counts: [String: Int] = [:]
      for node in nodes {
        guard let role = node.role?.value, named.contains(role) else { continue }
        counts[role, default: 0] += 1
        #expect(node.name?.value?.isEmpty == false, "\(role) without a name")
      }
      #expect(counts["image"] == 4)
      #expect(counts["combobox"] == 2)
      #expect(counts["table"] == 6)
      #expect(counts["heading"] == 7)
      let pictures = nodes.filter { $0.role?.value == "image" }.compactMap { $0.name?.value }
      #expect(pictures.contains { $0.hasPrefix("Latency of requests made: now ") })
      // Only the state of the page is announced by itself, not the numbers that change all the time.
      let live = "document.querySelectorAll('[aria-live], [role=status], [role=alert], [role=log], output')"
      #expect(try await browser.evaluate("[...\(live)].map(node => node.id).join()") == "status")
    }
  }

  @Test func `lets nothing run but its own script`() throws {
    guard case .immediate(let answer) = EndpointRoute.page().handler else {
      Issue.record("the page is not answered at once")
      return
    }
    var nonces: Set<Substring> = []
    for _ in 1...2 {
      let response = answer(EndpointRequest(path: "/"))
      let document = String(decoding: response.body, as: UTF8.self)
      let policy = try #require(response.headers["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none'; "))
      let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([^']+)'/)?.1)
      nonces.insert(nonce)
      // The style and the scripts stand in the document, with its nonce.
      let elements = document.matches(of: /<(?:link rel="stylesheet"|script|style)[^>]*>/).map {
        String($0.0)
      }
      #expect(Set(elements) == ["<style nonce=\"\(nonce)\">", "<script nonce=\"\(nonce)\">"])
      #expect(document.contains("\n<body data-log=\"no\" data-history=\"no\">\n"))
      // No other resource, no handler or style in an attribute.
      let attributes = document.matches(of: /\s(?:src|style|on[a-z]+)="/).count
      #expect(attributes == 0)
      let addresses = document.matches(of: /https?:\/\/(?!www\.w3\.org)/).count
      #expect(addresses == 0)
    }
    #expect(nonces.count == 2)
  }
}
