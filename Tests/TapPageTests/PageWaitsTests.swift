import SessionTap
import TapEndpoint
import TestSupport

/// What hangs, as a person sees it while a server says nothing.
@Suite(.serialized, .needs(.browser), .inBrowser) struct PageWaitsTests {
  private static let limit = Duration.seconds(5)
  /// The answers to payments and exports go on once it is open.
  private let gate = Gate()
  private let origin: Origin

  init() throws {
    let body = [UInt8](repeating: 97, count: 4_000)
    origin = try Origin { [gate] request in
      switch request.path {
      case "/payments/17": return [.hold(gate), .response()]
      case "/exports/18":
        return [
          .text("HTTP/1.1 200 OK\r\nContent-Length: 8000\r\n\r\n"), .send(body), .hold(gate), .send(body),
        ]
      default:
        let head = OriginStep.text("HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n")
        return [head] + Array(repeating: [.send(body), .think(200)], count: 1_000).flatMap { $0 }
      }
    }
  }

  private func start(_ paths: [String], in session: URLSession) {
    for path in paths {
      var request = URLRequest(url: origin.url(path))
      request.timeoutInterval = 600
      session.dataTask(with: request.traced()).resume()
    }
  }

  /// An app that makes these requests, and its page in a browser.
  private func show(
    showsLog: Bool, _ paths: [String], _ body: (Browser, URLSession) async throws -> Void
  ) async throws {
    var configuration = Tap.Configuration(environment: [:])
    configuration.endpoint = Endpoint.Configuration(address: .loopback(port: 0))
    (configuration.servesLog, configuration.isQuiet) = (showsLog, true)
    configuration.outbound.pathTemplates = [
      "/payments/{id}", "/exports/{id}", "/downloads/{id}", "/streams/{id}",
    ]
    configuration.outbound.waitingLimit = Self.limit
    configuration.outbound.waitingExemptions = ["/streams/{id}"]
    let tap = try Tap.start(configuration)
    let session = tap.session(client: "payments")
    start(paths, in: session)
    let port = try #require(tap.address?.port)
    try await Browser.use { browser in
      try await browser.show(width: 1280)
      try await browser.open("http://127.0.0.1:\(port)/")
      try await body(browser, session)
      #expect(browser.complaints == [])
    }
    session.invalidateAndCancel()
    origin.stop()
    await tap.shutdown()
  }

  @Test func `the first sentence says what hangs, and leads to the request`() async throws {
    try await show(
      showsLog: true, ["/payments/17?card=1", "/exports/18", "/downloads/19", "/streams/20"]
    ) { browser, _ in
      try await browser.wait(
        "/^1 request of `payments` to GET .* waits for the (rest of the )?response/.test($('wrong').rows[0]?.innerText) && $('wrong').rows.length === 2"
      )
      for (width, height, name) in [(1280, 900, "desktop"), (390, 844, "phone")] {
        for scheme in ["light", "dark"] {
          try await browser.show(width: width, height: height, scheme: scheme)
          try await browser.wait("innerWidth === \(width)")
          let seen = try await browser.seen(within: height / 2)
          #expect(
            seen.contains("2 things wrong now") && seen.contains("waits for the response"), "\(name): \(seen)"
          )
          #expect(
            try await browser.holds(
              "document.documentElement.scrollWidth <= \(width) && $('waits').scrollWidth <= \(width)"))
          try await PageViewTests.keep(browser, "hangs-\(name)-\(scheme)", isWhole: false)
        }
      }
      try await browser.show(width: 1280)
      let rows = try await browser.rows("waits").sorted()
      let host = "127.0.0.1:\(origin.port)"
      #expect(rows.count == 2)
      #expect(rows[0].hasPrefix("waits for the response|GET /payments/17|payments|\(host)|"), "\(rows)")
      #expect(
        rows[1].hasPrefix("waits for the rest of the response|GET /exports/18|payments|\(host)|"), "\(rows)")
      #expect(rows[1].contains("|200, 4 kB received, nothing for "), "\(rows)")

      // What moves does not hang; what is exempt is not there.
      try await browser.wait(
        "$('more-waits-words').textContent === '1 more request active for long'"
      )
      try await browser.point(at: "#more-waits-words")
      try await browser.wait("$('more-waits').checkVisibility()")
      let progress = try await browser.rows("more-waits")
      #expect(
        progress.count == 1 && progress[0].hasPrefix("is active|GET /downloads/19|payments|\(host)|"))
      let before = try await browser.evaluate("$('more-waits').rows[0].cells[6].textContent")
      try await browser.wait("$('more-waits').rows[0].cells[6].textContent !== '\(before)'")

      // The request in the drawer, which goes on while it is open, until it has ended.
      try await browser.evaluate(
        "[...all('#waits button')].find(node => node.textContent === 'waits for the response').id = 'hangs'")
      try await browser.openDrawer(at: "#hangs")
      #expect(try await browser.text("drawer-title").hasPrefix("GET http://\(host)/payments/17?"))
      let seen = try await browser.seen()
      let texts = [
        "The head of the response has not come.", "Waits for|response", "Made by|payments",
        "Path|/payments/{id}",
      ]
      #expect(texts.filter { !seen.contains($0) } == [], "\(seen)")
      try await PageViewTests.keep(browser, "hangs-request", isWhole: false)
      let age = try await browser.evaluate("$('drawer-content').textContent")
      try await browser.wait("$('drawer-content').textContent !== '\(age)'")
      try await browser.reload()
      try await browser.wait(
        "$('drawer-content').textContent.includes('The head of the response has not come.')")
      #expect(
        try await browser.holds(
          "['wrong', 'waits-part', 'more-waits-part'].every(id => !$(id).textContent.includes('/streams'))"))
      gate.open()
      try await browser.wait("$('drawer-content').textContent.includes('Status200')")
      #expect(try await browser.seen().contains("Where the time went"))
      try await browser.press("Escape", code: 27)
      // Nothing where nothing hangs.
      try await browser.wait("!$('waits-part').checkVisibility()")
      try await browser.wait("$('more-waits-part').checkVisibility()")
    }
  }

  @Test func `without the log it shows no address`() async throws {
    try await show(showsLog: false, ["/payments/17?card=1"]) { browser, _ in
      try await browser.wait("$('waits').rows.length === 1 && $('waits').checkVisibility()")
      let host = "127.0.0.1:\(origin.port)"
      #expect(
        try await browser.rows("waits")[0].hasPrefix(
          "waits for the response|GET /payments/{id}|payments|\(host)|"))
      // From the sentence, too.
      try await browser.openDrawer(at: "#wrong button")
      try await browser.expect(["$('drawer-title').innerText": "GET /payments/{id}"])
      #expect(try await browser.seen().contains("The head of the response has not come."))
      gate.open()
      try await browser.wait("!$('waits-part').checkVisibility()")
      try await browser.wait("$('drawer-content').textContent.includes('Status200')")
    }
  }
}
