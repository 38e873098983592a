import TapEndpoint
import Testing

/// Streamed bodies, answers that are not as they should be, and the end of the endpoint.
@Suite struct ConnectionAnswerTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(arguments: [
    (1, Int?.none, "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", false),
    (1, Int?.some(3), "Content-Length: 3\r\n\r\nabc", false),
    (0, Int?.none, "Connection: close\r\n\r\nabc", true),
  ])
  func `streams`(minor: Int, length: Int?, suffix: String, closes: Bool) {
    var driver = ConnectionDriver()
    driver.answer = { _ in EndpointResponse(body: .stream(length: length, { _ in })) }
    driver.receive(
      "GET /a HTTP/1.\(minor)\r\nHost: h\r\n\(minor == 0 ? "Connection: keep-alive\r\n" : "")\r\n")
    for part in ["ab", "", "c"] {
      driver.connection.bodyPart(Array(part.utf8), of: 0, at: driver.time)
      driver.run()
    }
    driver.connection.bodyEnded(of: 0, complete: true, at: driver.time)
    driver.run()
    #expect(driver.sent.hasSuffix(suffix))
    #expect(driver.isOutputShut == closes)
  }

  @Test(arguments: [("abcd", true), ("ab", true), ("abc", false)])
  func `resets when a stream is not what its head said`(part: String, complete: Bool) {
    var driver = ConnectionDriver()
    driver.answer = { _ in EndpointResponse(body: .stream(length: 3, { _ in })) }
    driver.receive(get)
    driver.connection.bodyPart(Array(part.utf8), of: 0, at: driver.time)
    driver.connection.bodyEnded(of: 0, complete: complete, at: driver.time)
    driver.run()
    #expect(driver.end == "reset")
  }

  @Test func `resets on demand`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in .reset }
    driver.receive(get)
    #expect(driver.end == "reset")
    #expect(driver.sent.isEmpty)
  }

  // MARK: Answers that are not as they should be

  @Test(arguments: [100, 101, 199, 0, -1, 1000])
  func `sends no status that is not final`(_ status: Int) {
    var driver = ConnectionDriver()
    driver.answer = { _ in EndpointResponse(status: EndpointStatus(rawValue: status)) }
    driver.receive(get)
    #expect(driver.statuses == ["500"])
  }

  @Test(arguments: [204, 205, 304])
  func `sends no body with a status that has none`(_ status: Int) {
    var driver = ConnectionDriver()
    driver.answer = { _ in .text("x", status: EndpointStatus(rawValue: status)) }
    driver.receive(get)
    #expect(driver.sent.hasSuffix("\r\n\r\n"))
    #expect(!driver.sent.contains("Content-Length"))
  }

  @Test func `lets no field break the framing`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in
      EndpointResponse(headers: [
        "X": "a\r\nY: b", "Bad Name": "x", "": "x", "content-length": "7", "Transfer-Encoding": "chunked",
        "CONNECTION": "close",
        "Date": "x",
      ])
    }
    driver.receive(get)
    #expect(driver.sent == "HTTP/1.1 200 OK\r\nDate: D\r\nX: a  Y: b\r\nContent-Length: 0\r\n\r\n")
  }

  // MARK: Draining

  @Test func `drains an idle connection at once`() {
    var driver = ConnectionDriver()
    driver.receive(get)
    driver.connection.drain()
    driver.run()
    #expect(driver.end == "closed")
  }

  @Test func `drains a busy connection behind its answer`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.connection.drain()
    driver.run()
    #expect(driver.end == nil)
    driver.connection.answer(.text("x"), to: 0, at: driver.time)
    driver.run()
    #expect(driver.sent.contains("Connection: close"))
    #expect(driver.isOutputShut)
  }
}
