import TapEndpoint
import Testing

@Suite struct ConnectionTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test func `answers and stays`() {
    var driver = ConnectionDriver()
    driver.receive(get)
    #expect(
      driver.takeSent()
        == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 2\r\n\r\n/a"
    )
    #expect(driver.connection.activity == .idle)
    #expect(driver.connection.wantsInput)
    let since = driver.connection.closingOrder.since
    driver.pass(.seconds(1))
    driver.receive(get)
    #expect(driver.statuses == ["200"])
    #expect(driver.ids == [0, 1])
    // It has been idle since its last request.
    #expect(driver.connection.closingOrder.since == since + .seconds(1))
    driver.receive("G")
    #expect(driver.connection.activity == .waiting)
  }

  @Test func `waits for an answer before it looks at the next request`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in nil }
    driver.receive(get + get)
    #expect(driver.requests.count == 1)
    #expect(driver.connection.wantsInput)
    // Up to 16 KiB behind the request.
    driver.receive(String(repeating: "x", count: 16_383 - get.utf8.count))
    #expect(driver.connection.wantsInput)
    driver.receive("x")
    #expect(!driver.connection.wantsInput)
    #expect(driver.connection.activity == .answering)
    driver.connection.answer(.text("x"), to: 0, at: driver.time)
    driver.run()
    #expect(driver.requests.count == 2)
    #expect(driver.connection.isCurrent(1) && !driver.connection.isCurrent(0))
    // An answer to the request before is not one to this.
    driver.connection.answer(.text("y"), to: 0, at: driver.time)
    driver.run()
    #expect(driver.statuses == ["200"])
  }

  @Test func `owes no more than one answer`() {
    var driver = ConnectionDriver()
    driver.room = 0
    driver.receive(String(repeating: get, count: 10))
    #expect(driver.requests.count == 1)
    #expect(!driver.connection.wantsInput)
    #expect(driver.connection.wantsOutput)
    #expect(driver.connection.activity == .waiting)
    driver.room = .max
    driver.connection.isWriteBlocked = false
    driver.run()
    #expect(driver.requests.count == 10)
    #expect(driver.connection.wantsInput)
  }

  @Test(arguments: ["GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n"])
  func `closes when the client says so`(_ text: String) {
    var driver = ConnectionDriver()
    driver.receive(text + get)
    #expect(driver.requests.count == 1)
    #expect(driver.sent.contains("\r\nConnection: close\r\n"))
    #expect(driver.isOutputShut)
    #expect(driver.end == nil)
    driver.finishInput()
    #expect(driver.end == "closed")
  }

  @Test func `reads nothing behind its last request until the answer is sent`() {
    var driver = ConnectionDriver()
    driver.room = 0
    driver.receive("GET /a HTTP/1.0\r\n\r\n")
    #expect(!driver.connection.wantsInput && driver.connection.wantsOutput)
    driver.room = .max
    driver.connection.isWriteBlocked = false
    driver.run()
    #expect(driver.connection.wantsInput && !driver.connection.wantsOutput)
  }

  /// Else the end would be read again and again until the answer.
  @Test func `reads nothing behind the client's end`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.finishInput()
    #expect(driver.end == nil)
    #expect(!driver.connection.wantsInput)
    driver.connection.answer(.text("x"), to: 0, at: driver.time)
    driver.run()
    #expect(driver.statuses == ["200"])
    #expect(driver.end == "closed")
  }

  @Test func `has its endpoint's limits for each of its requests`() {
    var limits = Endpoint.Configuration.Limits()
    limits.headerCount = 1
    var driver = ConnectionDriver()
    driver.connection = ConnectionState(limits: limits, at: driver.time)
    driver.receive(get + get.replacing("Host: h", with: "Host: h\r\nX: y"))
    #expect(driver.statuses == ["200", "431"])
  }

  @Test func `says that a request is incomplete`() {
    var driver = ConnectionDriver()
    driver.receive("GET /a HT")
    driver.finishInput()
    #expect(driver.sent.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    #expect(driver.sent.hasSuffix("\r\n\r\n400 Bad Request: the request is incomplete\n"))
    #expect(driver.refused == [400])
    #expect(driver.end == "closed")
  }

  @Test func `tells an old client that it stays`() {
    var driver = ConnectionDriver()
    driver.receive("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    #expect(driver.sent.contains("\r\nConnection: keep-alive\r\n"))
    #expect(!driver.isOutputShut)
  }

  @Test func `refuses and lingers`() {
    var driver = ConnectionDriver()
    driver.receive(get + "nonsense\r\n" + get)
    #expect(driver.statuses == ["200", "400"])
    #expect(driver.refused == [400])
    #expect(driver.isOutputShut)
    #expect(driver.connection.wantsInput)
    driver.receive(String(repeating: "x", count: 100_000))
    #expect(driver.end == nil)
    driver.pass(.seconds(2) - .nanoseconds(1))
    #expect(driver.end == nil)
    driver.pass(.nanoseconds(1))
    #expect(driver.end == "closed")
  }

  @Test func `does not linger for more than its bound`() {
    var driver = ConnectionDriver()
    driver.receive("nonsense\r\n")
    for _ in 0..<4 {
      driver.receive(String(repeating: "x", count: 65_536))
      #expect(driver.end == nil)
    }
    driver.receive("x")
    #expect(driver.end == "reset")
  }

  @Test func `does not linger where the client has ended its side`() {
    var driver = ConnectionDriver()
    driver.connection.received(Array("GET /a HTTP/1.0\r\n\r\n".utf8)[...])
    driver.finishInput()
    #expect(driver.statuses == ["200"])
    #expect(driver.end == "closed")
    #expect(!driver.isOutputShut)
  }

  @Test func `ends by a shutdown between requests, and within one behind its answer`() {
    var idle = ConnectionDriver()
    idle.connection.drain()
    idle.run()
    #expect(idle.end == "closed")
    var driver = ConnectionDriver()
    driver.receive("GET /a HTTP/1.1\r\n")
    driver.connection.drain()
    driver.run()
    #expect(driver.end == nil)
    driver.receive("Host: h\r\n\r\n" + get)
    #expect(driver.requests.count == 1)
    #expect(driver.sent.contains("\r\nConnection: close\r\n"))
    #expect(driver.isOutputShut)
  }
}
