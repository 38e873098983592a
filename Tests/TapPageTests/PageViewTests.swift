import TestSupport

/// What people see of the page in a real browser: every width, both schemes of colours, thousands of series.
@Suite(.needs(.browser), .inBrowser) struct PageViewTests {
  @Test(arguments: ["light", "dark"])
  func `fits every width`(scheme: String) async throws {
    let content = try PageContent()
    let record = {
      for host in 0..<12 {
        let request = content.request(
          client: "client-\(host % 3)", host: "service-\(host).of-a-rather-long-name.example.com",
          template: "/products/{id}/reviews/{review}/translations/{language}")
        content.record(
          40, request, 3 << host, .response(statusCode: host % 5 == 0 ? 503 : 200),
          phases: Self.phases { (3 << host) * (($0 + host) % 6 + 1) / 21 }, opened: host % 2)
        content.serve(
          40, route: "/products/{id}/reviews/{review}/translations/\(host)", 3 << host,
          statusCode: host % 4 == 0 ? 500 : 200)
      }
    }
    record()
    let log = """
      {"timestamp":"2026-11-21T09:30:00.123456Z","severity":"WARN","client.name":"client-1","message":"slow"}
      {"timestamp":"2026-11-21T09:30:00.2Z","severity":"ERROR","event":"http.client.request","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","client.name":"a-client-of-a-rather-long-name","http.request.method":"GET","url.full":"https://service-1.of-a-rather-long-name.example.com/products/17/reviews/4","error.type":"connection_lost","duration_s":0.05,"processing_s":0.04,"cut_off_phase":"processing"}
      {"timestamp":"2026-11-21T09:30:00.3Z","severity":"INFO","event":"http.server.request","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","http.request.method":"GET","url.path":"/products/17","http.response.status_code":200,"duration_s":0.2}
      """
    try await content.show(log: log + "\n") { browser in
      record()
      try await browser.waitForDrawing("made-rate")
      try await browser.wait("all('#phases li').length === 10")
      try await browser.wait("$('slowest').rows.length === 20")
      for width in [1280, 768, 390, 320] {
        try await browser.show(width: width, scheme: scheme)
        try await browser.wait("innerWidth === \(width) && $('made-heat').clientWidth < \(width)")
        #expect(try await browser.holds("document.documentElement.scrollWidth <= \(width)"), "\(width)")
        #expect(try await browser.evaluate(Self.brokenNumbers) == "", "\(width)")
        #expect(Double(try await browser.evaluate(Self.leastContrast)) ?? 0 >= 4.5, "\(width)")
        try await Self.keep(browser, "page-\(scheme)-\(width)")
        // With a request and its trace beside the page, or before it.
        try await browser.click("#lines tr:nth-child(2) button")
        try await browser.wait(
          "all('.waterfall.trace li').length === 2 && all('.processing.cut').length === 1")
        #expect(
          try await browser.holds(
            "(one => one.scrollWidth <= one.clientWidth && one.getBoundingClientRect().right <= \(width))($('drawer'))"
          ), "\(width)")
        #expect(Double(try await browser.evaluate(Self.leastContrast)) ?? 0 >= 4.5, "\(width)")
        try await Self.keep(browser, "request-\(scheme)-\(width)")
        try await browser.click("#drawer-close")
      }
    }
  }

  private static func phases(_ time: (Int) -> Int) -> [RequestTimings.Phase: Int] {
    let phases = RequestTimings.Phase.allCases.enumerated().map { ($0.element, time($0.offset)) }
    return Dictionary(uniqueKeysWithValues: phases)
  }

  /// Keeps a picture for people to look at, where they ask for it.
  static func keep(_ browser: Browser, _ name: String, isWhole: Bool = true) async throws {
    guard let folder = ProcessInfo.processInfo.environment["TESTS_ARTIFACTS"] else { return }
    try await browser.picture(isWhole: isWhole).write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
  }

  /// The numbers whose unit is in another line.
  private static let brokenNumbers = """
    [...all('#made-p50, #made-p90, #made-p99, #served-p50, #served-p99, td.number')].filter(node => {
      const range = document.createRange();
      range.selectNodeContents(node);
      return node.checkVisibility() && range.getClientRects().length > 1;
    }).map(node => node.textContent).join()
    """

  /// The least contrast of a text with what is behind it (WCAG 2.2, "relative luminance" and 1.4.3).
  private static let leastContrast = """
    Math.min(...[...all('body *')].filter(node => node.checkVisibility() && !node.closest('noscript, option')
      && [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())).map(node => {
      const rgba = text => text.match(/[\\d.]+/g).map(Number);
      const luminance = ([r, g, b]) => [r, g, b].map(part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
      let behind = node;
      while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
      const [high, low] = [node, behind].map((one, i) =>
        luminance(rgba(getComputedStyle(one)[i ? 'backgroundColor' : 'color']))).sort((a, b) => b - a);
      return (high + 0.05) / (low + 0.05);
    }))
    """

  /// As many as a debug build on a busy machine writes within the ten seconds that the page waits for a
  /// scrape.
  @Test func `shows five hundred series`() async throws {
    let content = try PageContent()
    let phases = Self.phases { _ in 3 }
    for host in 0..<50 {
      for status in 200..<210 {
        content.record(
          1, content.request(host: "host-\(host).example.com"), 20, .response(statusCode: status),
          phases: phases)
      }
    }
    try await content.show { browser in
      for round in 2...4 {
        for host in 0..<50 {
          content.record(10, content.request(host: "host-\(host).example.com"), 20, phases: phases)
        }
        let requests = ["1,000", "1,500", "2,000"][round - 2]
        try await browser.wait("$('made-requests').textContent === '\(requests)'")
      }
      try await browser.expect(["$('host').options.length": "51"])
    }
  }
}
