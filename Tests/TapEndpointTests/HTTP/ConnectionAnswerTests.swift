import TapEndpoint
import Testing

@Suite struct ConnectionAnswerTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test(arguments: [100, 101, 199, 0, -1, 1000])
  func `sends no status that is not final`(_ status: Int) {
    var driver = ConnectionDriver()
    driver.answer = { _ in EndpointResponse(status: status) }
    driver.receive(get)
    #expect(driver.statuses == ["500"])
  }

  @Test(arguments: [204, 205, 304])
  func `sends no body with a status that has none`(_ status: Int) {
    var driver = ConnectionDriver()
    driver.answer = { _ in .text("x", status: status) }
    driver.receive(get)
    #expect(driver.sent.hasSuffix("\r\n\r\n"))
    #expect(!driver.sent.contains("Content-Length"))
  }

  @Test func `lets no field break the framing`() {
    var driver = ConnectionDriver()
    driver.answer = { _ in
      EndpointResponse(headers: [
        "X": "a\r\nY: b", "Bad Name": "x", "": "x", "content-length": "7", "Transfer-Encoding": "chunked",
        "CONNECTION": "close", "Date": "x",
      ])
    }
    driver.receive(get)
    #expect(driver.sent == "HTTP/1.1 200 OK\r\nDate: D\r\nX: a  Y: b\r\nContent-Length: 0\r\n\r\n")
  }
}
