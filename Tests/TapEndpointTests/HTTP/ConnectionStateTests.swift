import TapEndpoint
import Testing

@Suite struct ConnectionStateTests {
  private static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  /// Steps, and what comes of them (``ConnectionDriver``).
  private static let lives = """
    get ? G ?                              → h0 200 (idle input) (waiting input)
    ?                                      → (waiting input)
    G&E&T end                              → !400 400c closed

    The next request is looked at when the one before is answered, and an answer to that is none to this:
    mute get&get ? x16355 ? x1 ?           → h0 (answering input) (answering input) (answering)
    mute get&get answer0 answer0           → h0 200 h1

    No more than one answer is owed:
    block get&get&get ? open ?             → h0 (waiting output) 200 h1 200 h2 200 (idle input)

    The last request of a connection:
    close&get end                          → h0 200c shut closed
    old&get end                            → h0 200c shut closed
    oldkeep                                → h0 200k
    block old ? open ?                     → h0 (waiting output) 200c shut (waiting input)
    mute get end ? answer0                 → h0 (answering) 200 closed

    A refusal is the last answer. What follows is read for two seconds, and up to 256 KiB, for else the
    client might lose the answer:
    get&bad&get ? x99999 +1.999999999 +0.000000001 → h0 200 !400 400c shut (waiting input) | | closed
    bad x65536 x65536 x65536 x65536 ? x1   → !400 400c shut (waiting input) reset
    old& end                               → h0 200c closed

    A shutdown ends what is idle, and a request behind its answer:
    drain                                  → closed
    head drain rest&get                    → h0 200c shut

    Idle for 75 s:
    +74.999999999 +0.000000001             → | | closed
    +74 get +74 +1                         → | h0 200 | | closed

    Five seconds for a head, however its pieces are spread, and be they empty lines:
    G +4.999999999 E +0.000000001          → | | !408 408c shut
    crlf +2.5 crlf +2.5                    → | | !408 408c shut

    Sixty for a handler, whose late answer is none to the next request:
    mute get +59.999999999 +0.000000001 ? answer0 reply get → h0 | | 503 (idle input) h1 200

    Ten for a reader, and as long for each 64 KiB. Less is not enough, nor behind a step that was:
    block get +9.999 +0.001                → h0 | | reset
    large block get +9 room65536 +9 room65536 +9 room65536 +9 room65536 ? → h0 | 200 | | | (idle input)
    large room65536 get +3 room21845 +3 room21845 +3 room21845 +3 → h0 200 | | | | reset
    """

  @Test func `lives as long as its requests, and its deadlines, let it`() {
    let lines = Self.lives.split(separator: "\n", omittingEmptySubsequences: false)
    let told = lines.map { line in
      guard let arrow = line.firstRange(of: "→ ") else { return String(line) }
      return line[..<arrow.upperBound] + ConnectionDriver.trace(line[..<arrow.lowerBound])
    }
    #expect(told.joined(separator: "\n") == Self.lives)
  }

  @Test func `writes the head of an answer, and is idle since`() {
    var driver = ConnectionDriver()
    driver.receive(Self.get)
    let head =
      "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: text/plain; charset=utf-8\r\n"
      + "X-Content-Type-Options: nosniff\r\nContent-Length: 2\r\n\r\n/a"
    #expect(driver.sent == head)
    let since = driver.connection.closingOrder.since
    driver.pass(.seconds(1))
    driver.receive(Self.get)
    #expect(driver.connection.closingOrder.since == since + .seconds(1))
  }

  @Test func `has its endpoint's limits for each of its requests`() {
    var limits = Endpoint.Configuration.Limits()
    limits.headerCount = 1
    var driver = ConnectionDriver(limits: limits)
    driver.receive(Self.get + Self.get.replacing("Host: h", with: "Host: h\r\nX: y"))
    #expect(driver.trace == " h0 200 !431 431c shut")
  }

  @Test(arguments: [
    ("end", "400 Bad Request: the request is incomplete\n"),
    ("+5", "408 Request Timeout: the head took too long\n"),
  ])
  func `says why it ends within a head`(step: String, text: String) {
    var driver = ConnectionDriver()
    driver.receive("GET /a HT")
    driver.step(step[...])
    #expect(driver.sent.hasSuffix("\r\n\r\n" + text))
  }

  @Test func `answers before a scraper hangs up`() {
    let milliseconds = [
      "10": 9_500, "1": 900, "0.1": 50, "0.01": 1, "1e1": 9_500, "600": 60_000, "0": 60_000, "-1": 60_000,
      "nan": 60_000, "inf": 60_000, "x": 60_000, "": 60_000, "1e300": 60_000,
      String(repeating: "0", count: 31) + "1": 900, String(repeating: "0", count: 32) + "1": 60_000,
    ]
    let traces = milliseconds.map { timeout, milliseconds in
      var driver = ConnectionDriver()
      driver.answer = { _ in nil }
      driver.receive(
        "GET /metrics HTTP/1.1\r\nHost: h\r\nX-Prometheus-Scrape-Timeout-Seconds: \(timeout)\r\n\r\n")
      driver.pass(.milliseconds(milliseconds) - .nanoseconds(1))
      driver.trace += " |"
      driver.pass(.nanoseconds(1))
      return "\(timeout)\(driver.trace)"
    }
    #expect(traces.sorted() == milliseconds.keys.map { "\($0) h0 | 503" }.sorted())
  }
}
