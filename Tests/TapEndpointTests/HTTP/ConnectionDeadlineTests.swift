import TapEndpoint
import Testing

@Suite struct ConnectionDeadlineTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test func `closes an idle connection`() {
    var silent = ConnectionDriver()
    silent.pass(.seconds(75) - .nanoseconds(1))
    #expect(silent.end == nil)
    silent.pass(.nanoseconds(1))
    #expect(silent.end == "closed")
    var driver = ConnectionDriver()
    driver.pass(.seconds(74))
    #expect(driver.end == nil)
    driver.receive(get)
    driver.pass(.seconds(74))
    #expect(driver.end == nil)
    driver.pass(.seconds(1))
    #expect(driver.end == "closed")
    #expect(driver.statuses == ["200"])
  }

  /// However the pieces are spread, and be they nothing but empty lines.
  @Test(
    arguments: [
      "GET / HT".map { String($0) }, Array(repeating: "\r\n", count: 8),
    ])
  func `gives a head some time in all`(pieces: [String]) {
    var driver = ConnectionDriver()
    for piece in pieces {
      #expect(driver.statuses.isEmpty)
      driver.receive(piece)
      driver.pass(.milliseconds(700))
    }
    #expect(driver.sent.hasSuffix("\r\n\r\n408 Request Timeout: the head took too long\n"))
    #expect(driver.statuses == ["408"])
    #expect(driver.refused == [408])
    #expect(driver.isOutputShut)
  }

  @Test func `answers for a handler that does not`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.pass(.seconds(60))
    #expect(driver.statuses == ["503"])
    #expect(!driver.connection.isCurrent(0))
    driver.answer = { .text($0.path) }
    driver.receive(get)
    #expect(driver.statuses == ["503", "200"])
  }

  @Test(arguments: [
    ("10", 9_500), ("1", 900), ("0.1", 50), ("0.01", 1), ("1e1", 9_500), ("600", 60_000), ("0", 60_000),
    (String(repeating: "0", count: 31) + "1", 900), (String(repeating: "0", count: 32) + "1", 60_000),
    ("-1", 60_000), ("nan", 60_000), ("inf", 60_000), ("x", 60_000), ("", 60_000), ("1e300", 60_000),
  ])
  func `answers before a scraper hangs up`(timeout: String, milliseconds: Int) {
    var driver = ConnectionDriver()
    driver.answer = { _ in nil }
    driver.receive(
      "GET /metrics HTTP/1.1\r\nHost: h\r\nX-Prometheus-Scrape-Timeout-Seconds: \(timeout)\r\n\r\n")
    driver.pass(.milliseconds(milliseconds) - .nanoseconds(1))
    #expect(driver.statuses.isEmpty)
    driver.pass(.milliseconds(1))
    #expect(driver.statuses == ["503"])
  }

  @Test func `resets a reader that does not read`() {
    var driver = ConnectionDriver()
    driver.room = 0
    driver.receive(get)
    driver.pass(.milliseconds(9_999))
    #expect(driver.end == nil)
    driver.pass(.milliseconds(1))
    #expect(driver.end == "reset")
  }

  @Test func `bears a reader that is slow`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in EndpointResponse(body: [UInt8](repeating: 120, count: 200_000)) }
    driver.room = 0
    driver.receive(get)
    for _ in 0..<4 {
      driver.pass(.seconds(9))
      #expect(driver.end == nil)
      driver.room = 65_536
      driver.connection.isWriteBlocked = false
      driver.run()
    }
    #expect(driver.connection.output.isEmpty)
    // Less than a step is not enough, nor behind a step that was.
    driver.room = 65_536
    driver.receive(get)
    for _ in 0..<5 where driver.end == nil {
      driver.pass(.seconds(3))
      driver.room = 21_845
      driver.connection.isWriteBlocked = false
      driver.run()
    }
    #expect(driver.end == "reset")
  }
}
