import TapEndpoint
import Testing

/// A connection whose handler answers at once with the request's path, and whose socket takes everything.
struct Driver {
  static let start = ContinuousClock.now
  var connection: Connection
  var moment = Moment(instant: Driver.start, date: Array("D".utf8))
  var sent = ""
  var requests: [HTTPRequest] = []
  var ids: [UInt64] = []
  var cancelled: [UInt64] = []
  var refused: [Int] = []
  var end: String?
  var isOutputShut = false
  /// How many bytes the socket takes at once; 0 blocks.
  var room = Int.max
  var answer: (HTTPRequest) -> HTTPResponse? = { .text($0.path) }

  init(_ limits: ConnectionLimits = ConnectionLimits()) {
    connection = Connection(limits: limits, at: moment)
  }

  mutating func run() {
    while end == nil {
      switch connection.nextAction(at: moment) {
      case .handle(let request, let id):
        requests.append(request)
        ids.append(id)
        if let response = answer(request) { connection.answer(response, to: id, at: moment) }
      case .refused(let failure):
        refused.append(failure.status.rawValue)
      case .cancel(let id):
        cancelled.append(id)
      case .write:
        guard room > 0 else {
          connection.writeBlocked()
          continue
        }
        let bytes = connection.output.withFirstParts {
          Array($0.prefix(room)) + Array($1.prefix(max(0, room - $0.count)))
        }
        if room != .max { room -= bytes.count }
        sent += String(decoding: bytes, as: UTF8.self)
        connection.wrote(bytes.count, at: moment)
      case .shutdownOutput:
        isOutputShut = true
      case .close(let reset):
        end = reset ? "reset" : "closed"
      case .wait:
        return
      }
    }
  }

  mutating func receive(_ text: String) {
    connection.received(Array(text.utf8)[...])
    run()
  }

  mutating func finishInput() {
    connection.inputEnded()
    run()
  }

  mutating func pass(_ duration: Duration) {
    moment.instant += duration
    if connection.deadline <= moment.instant { connection.deadlinePassed(at: moment) }
    run()
  }

  mutating func takeSent() -> String {
    defer { sent = "" }
    return sent
  }

  /// The status codes of the answers so far.
  var statuses: [String] {
    sent.split(separator: "HTTP/1.1 ").filter { $0.first?.isNumber ?? false }.map { String($0.prefix(3)) }
  }
}

@Suite struct ConnectionTests {
  private let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test func answersAndStays() {
    var driver = Driver()
    driver.receive(get)
    #expect(
      driver.takeSent()
        == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 2\r\n\r\n/a"
    )
    #expect(driver.connection.activity == .idle)
    #expect(driver.connection.wantsInput)
    driver.receive(get)
    #expect(driver.statuses == ["200"])
    #expect(driver.ids == [0, 1])
  }

  @Test func answersHEADWithTheHeadOfGET() {
    var driver = Driver()
    driver.receive("HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(driver.sent.hasSuffix("Content-Length: 4\r\n\r\n"))
    #expect(driver.end == nil)
  }

  @Test func answersPipelinedRequestsInOrder() {
    var driver = Driver()
    driver.receive((0..<100).map { "GET /\($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined())
    #expect(driver.requests.map(\.path) == (0..<100).map { "/\($0)" })
    #expect(driver.statuses.count == 100)
    let bodies = driver.sent.split(separator: "\r\n\r\n").dropFirst().compactMap {
      $0.split(separator: "HTTP", omittingEmptySubsequences: false).first
    }
    #expect(bodies.map(String.init) == (0..<100).map { "/\($0)" })
  }

  @Test func waitsForAnAnswerBeforeItLooksAtTheNextRequest() {
    var driver = Driver()
    driver.answer = { _ in nil }
    driver.receive(get + get)
    #expect(driver.requests.count == 1)
    #expect(driver.connection.wantsInput)
    driver.receive(String(repeating: get, count: 600))
    #expect(!driver.connection.wantsInput)
    #expect(driver.connection.activity == .answering)
    driver.connection.answer(.text("x"), to: 0, at: driver.moment)
    driver.run()
    #expect(driver.requests.count == 2)
    // An answer to the request before is not one to this.
    driver.connection.answer(.text("y"), to: 0, at: driver.moment)
    driver.run()
    #expect(driver.statuses == ["200"])
  }

  @Test func owesNoMoreAnswersThanItsLimit() {
    var limits = ConnectionLimits()
    limits.pipelinedAnswers = 3
    var driver = Driver(limits)
    driver.room = 0
    driver.receive(String(repeating: get, count: 10))
    #expect(driver.requests.count == 3)
    #expect(!driver.connection.wantsInput)
    #expect(driver.connection.wantsOutput)
    #expect(driver.connection.activity == .waiting)
    driver.room = .max
    driver.connection.writable()
    driver.run()
    #expect(driver.requests.count == 10)
    #expect(driver.connection.wantsInput)
  }

  @Test(arguments: [
    "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n",
  ])
  func closesWhenTheClientSaysSo(_ text: String) {
    var driver = Driver()
    driver.receive(text + get)
    #expect(driver.requests.count == 1)
    #expect(driver.sent.contains("\r\nConnection: close\r\n"))
    #expect(driver.isOutputShut)
    #expect(driver.end == nil)
    driver.finishInput()
    #expect(driver.end == "closed")
  }

  @Test func tellsAnOldClientThatItStays() {
    var driver = Driver()
    driver.receive("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    #expect(driver.sent.contains("\r\nConnection: keep-alive\r\n"))
    #expect(!driver.isOutputShut)
  }

  @Test func refusesAndLingers() {
    var driver = Driver()
    driver.receive(get + "nonsense\r\n" + get)
    #expect(driver.statuses == ["200", "400"])
    #expect(driver.refused == [400])
    #expect(driver.isOutputShut)
    #expect(driver.connection.wantsInput)
    driver.receive(String(repeating: "x", count: 100_000))
    #expect(driver.end == nil)
    driver.pass(.seconds(2))
    #expect(driver.end == "closed")
  }

  @Test func doesNotLingerForMoreThanItsBound() {
    var driver = Driver()
    driver.receive("nonsense\r\n")
    for _ in 0..<5 where driver.end == nil { driver.receive(String(repeating: "x", count: 65_536)) }
    #expect(driver.end == "reset")
  }

  @Test func asksForABody() {
    var driver = Driver()
    driver.receive("POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(driver.takeSent() == "HTTP/1.1 100 Continue\r\n\r\n")
    driver.receive("hi")
    #expect(driver.requests.first?.body == Array("hi".utf8))
    #expect(driver.statuses == ["200"])
  }

  @Test func closesWhenTheClientDoes() {
    var driver = Driver()
    driver.finishInput()
    #expect(driver.end == "closed")
  }

  @Test func answersAClientThatHasEndedItsHalf() {
    var driver = Driver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.finishInput()
    #expect(!driver.connection.wantsInput)
    driver.connection.answer(.text("x"), to: 0, at: driver.moment)
    driver.run()
    #expect(driver.statuses == ["200"])
    #expect(driver.end == "closed")
  }

  @Test func refusesHalfARequest() {
    var driver = Driver()
    driver.receive("GET / HTTP/1.1\r\n")
    driver.finishInput()
    #expect(driver.statuses == ["400"])
    #expect(driver.end == "closed")
  }

  // MARK: Deadlines

  @Test func closesAnIdleConnection() {
    var driver = Driver()
    driver.pass(.seconds(74))
    #expect(driver.end == nil)
    driver.receive(get)
    driver.pass(.seconds(74))
    #expect(driver.end == nil)
    driver.pass(.seconds(1))
    #expect(driver.end == "closed")
    #expect(driver.statuses == ["200"])
  }

  @Test func givesAHeadSomeTimeInAll() {
    var driver = Driver()
    for byte in "GET / H" {
      driver.receive(String(byte))
      driver.pass(.milliseconds(700))
    }
    #expect(driver.statuses.isEmpty)
    driver.receive("T")
    driver.pass(.milliseconds(700))
    #expect(driver.statuses == ["408"])
    #expect(driver.isOutputShut)
  }

  @Test func emptyLinesDoNotKeepAConnection() {
    var driver = Driver()
    for _ in 0..<8 {
      driver.receive("\r\n")
      driver.pass(.milliseconds(700))
    }
    #expect(driver.statuses == ["408"])
  }

  @Test func givesABodySomeTimeInAll() {
    var driver = Driver()
    driver.receive("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
    for _ in 0..<9 {
      driver.pass(.seconds(1))
      driver.receive("x")
    }
    #expect(driver.statuses.isEmpty)
    driver.pass(.seconds(1))
    #expect(driver.statuses == ["408"])
  }

  @Test func answersForAHandlerThatDoesNot() {
    var driver = Driver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.pass(.seconds(60))
    #expect(driver.statuses == ["503"])
    #expect(driver.cancelled == [0])
    driver.answer = { .text($0.path) }
    driver.receive(get)
    #expect(driver.statuses == ["503", "200"])
  }

  @Test(arguments: [
    ("10", 9_500), ("1", 900), ("0.1", 50), ("0.01", 1), ("1e1", 9_500), ("600", 60_000), ("0", 60_000),
    ("-1", 60_000), ("nan", 60_000),
    ("inf", 60_000), ("x", 60_000), ("", 60_000), ("1e300", 60_000),
  ])
  func answersBeforeAScraperHangsUp(timeout: String, milliseconds: Int) {
    var driver = Driver()
    driver.answer = { _ in nil }
    driver.receive(
      "GET /metrics HTTP/1.1\r\nHost: h\r\nX-Prometheus-Scrape-Timeout-Seconds: \(timeout)\r\n\r\n")
    driver.pass(.milliseconds(milliseconds) - .nanoseconds(1))
    #expect(driver.statuses.isEmpty)
    driver.pass(.milliseconds(1))
    #expect(driver.statuses == ["503"])
  }

  @Test func resetsAReaderThatDoesNotRead() {
    var driver = Driver()
    driver.room = 0
    driver.receive(get)
    driver.pass(.milliseconds(9_999))
    #expect(driver.end == nil)
    driver.pass(.milliseconds(1))
    #expect(driver.end == "reset")
  }

  @Test func bearsAReaderThatIsSlow() {
    var driver = Driver()
    driver.answer = { _ in HTTPResponse(body: .bytes([UInt8](repeating: 120, count: 200_000))) }
    driver.room = 0
    driver.receive(get)
    for _ in 0..<4 {
      driver.pass(.seconds(9))
      #expect(driver.end == nil)
      driver.room = 65_536
      driver.connection.writable()
      driver.run()
    }
    #expect(driver.connection.output.isEmpty)
    // A trickle is not enough.
    driver.room = 0
    driver.receive(get)
    for _ in 0..<5 where driver.end == nil {
      driver.pass(.seconds(3))
      driver.room = 10
      driver.connection.writable()
      driver.run()
    }
    #expect(driver.end == "reset")
  }

  // MARK: Streamed bodies

  @Test(arguments: [
    (1, Int?.none, "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", false),
    (1, Int?.some(3), "Content-Length: 3\r\n\r\nabc", false),
    (0, Int?.none, "Connection: close\r\n\r\nabc", true),
  ])
  func streams(minor: Int, length: Int?, suffix: String, closes: Bool) {
    var driver = Driver()
    driver.answer = { _ in HTTPResponse(body: .stream(length: length, { _ in })) }
    driver.receive(
      "GET /a HTTP/1.\(minor)\r\nHost: h\r\n\(minor == 0 ? "Connection: keep-alive\r\n" : "")\r\n")
    for part in ["ab", "", "c"] {
      driver.connection.bodyPart(Array(part.utf8), of: 0, at: driver.moment)
      driver.run()
    }
    driver.connection.bodyEnded(of: 0, complete: true, at: driver.moment)
    driver.run()
    #expect(driver.sent.hasSuffix(suffix))
    #expect(driver.isOutputShut == closes)
  }

  @Test(arguments: [("abcd", true), ("ab", true), ("abc", false)])
  func resetsWhenAStreamIsNotWhatItsHeadSaid(part: String, complete: Bool) {
    var driver = Driver()
    driver.answer = { _ in HTTPResponse(body: .stream(length: 3, { _ in })) }
    driver.receive(get)
    driver.connection.bodyPart(Array(part.utf8), of: 0, at: driver.moment)
    driver.connection.bodyEnded(of: 0, complete: complete, at: driver.moment)
    driver.run()
    #expect(driver.end == "reset")
  }

  @Test func resetsOnDemand() {
    var driver = Driver()
    driver.answer = { _ in .reset }
    driver.receive(get)
    #expect(driver.end == "reset")
    #expect(driver.sent.isEmpty)
  }

  // MARK: Answers that are not as they should be

  @Test(arguments: [100, 101, 199, 0, -1, 1000])
  func sendsNoStatusThatIsNotFinal(_ status: Int) {
    var driver = Driver()
    driver.answer = { _ in HTTPResponse(status: HTTPStatus(rawValue: status)) }
    driver.receive(get)
    #expect(driver.statuses == ["500"])
  }

  @Test(arguments: [204, 205, 304])
  func sendsNoBodyWithAStatusThatHasNone(_ status: Int) {
    var driver = Driver()
    driver.answer = { _ in .text("x", status: HTTPStatus(rawValue: status)) }
    driver.receive(get)
    #expect(driver.sent.hasSuffix("\r\n\r\n"))
    #expect(!driver.sent.contains("Content-Length"))
  }

  @Test func letsNoFieldBreakTheFraming() {
    var driver = Driver()
    driver.answer = { _ in
      HTTPResponse(headers: [
        "X": "a\r\nY: b", "Bad Name": "x", "": "x", "content-length": "7", "Transfer-Encoding": "chunked",
        "CONNECTION": "close",
        "Date": "x",
      ])
    }
    driver.receive(get)
    #expect(driver.sent == "HTTP/1.1 200 OK\r\nDate: D\r\nX: a  Y: b\r\nContent-Length: 0\r\n\r\n")
  }

  // MARK: Draining

  @Test func drainsAnIdleConnectionAtOnce() {
    var driver = Driver()
    driver.receive(get)
    driver.connection.drain()
    driver.run()
    #expect(driver.end == "closed")
  }

  @Test func drainsABusyConnectionBehindItsAnswer() {
    var driver = Driver()
    driver.answer = { _ in nil }
    driver.receive(get)
    driver.connection.drain()
    driver.run()
    #expect(driver.end == nil)
    driver.connection.answer(.text("x"), to: 0, at: driver.moment)
    driver.run()
    #expect(driver.sent.contains("Connection: close"))
    #expect(driver.isOutputShut)
  }
}
