import TapEndpoint
import Testing

@Suite struct RequestParserTests {
  struct Valid: Sendable, CustomTestStringConvertible {
    var text: String
    var method = "GET"
    var path = "/"
    var query: String?
    var authority: String? = "a"
    var keepsAlive = true

    var testDescription: String { String(reflecting: text) }
  }

  private static let longestMethod = String(repeating: "A", count: 32)

  static let valid: [Valid] = [
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Valid(text: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    Valid(
      text: "GET /metrics?name[]=up&x=%20 HTTP/1.1\r\nHost: a\r\n\r\n", path: "/metrics",
      query: "name[]=up&x=%20"), Valid(text: "GET /? HTTP/1.1\r\nHost: a\r\n\r\n", query: ""),
    Valid(text: "GET /%6detrics%2f%2Fx HTTP/1.1\r\nHost: a\r\n\r\n", path: "/metrics%2F%2Fx"),
    Valid(
      text: "GET http://b.example:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n", path: "/x", query: "y",
      authority: "b.example:80"), Valid(text: "GET HTTPS://b HTTP/1.1\r\nHost: a\r\n\r\n", authority: "b"),
    Valid(text: "GET http://[::1]:9464?q HTTP/1.1\r\nHost: a\r\n\r\n", query: "q", authority: "[::1]:9464"),
    Valid(text: "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", method: "OPTIONS", path: "*"),
    Valid(text: "GET / HTTP/1.0\r\n\r\n", authority: nil, keepsAlive: false),
    Valid(text: "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", authority: nil),
    Valid(text: "GET / HTTP/1.0\r\nHost: b\r\n\r\n", authority: "b", keepsAlive: false),
    Valid(text: "GET / HTTP/1.7\r\nHost: a\r\n\r\n"),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo , CLOSE\r\n\r\n", keepsAlive: false),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive\r\n\r\n", keepsAlive: false),
    Valid(text: "get / HTTP/1.1\r\nHost: a\r\n\r\n", method: "get"),
    Valid(text: "M-SEARCH! / HTTP/1.1\r\nHost: a\r\n\r\n", method: "M-SEARCH!"),
    Valid(text: "GET / HTTP/1.1\r\nHost:a\r\nX:\r\nY: \t \r\nZ:\tz \t\r\n\r\n"),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\r\n\r\n"),
    Valid(text: "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]:1\r\n\r\n", authority: "[fe80::1%25eth0]:1"),
    Valid(text: "GET / HTTP/1.1\r\nhOST: a:\r\n\r\n", authority: "a:"),
    Valid(text: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", method: "POST"),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 000\r\nExpect: 100-continue\r\n\r\n"),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: close\r\n\r\n", keepsAlive: false),
    Valid(text: "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, not-close\r\n\r\n"),
    Valid(
      text: "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", authority: nil, keepsAlive: false),
    Valid(text: "GET / HTTP/1.0\r\nConnection: x\r\nConnection: keep-alive\r\n\r\n", authority: nil),
    Valid(text: "GET / HTTP/1.1\r\nHost: a%2Db:65535\r\n\r\n", authority: "a%2Db:65535"),
    Valid(text: "\(longestMethod) / HTTP/1.1\r\nHost: a\r\n\r\n", method: longestMethod),
    Valid(text: get(String(repeating: "a:\r\n", count: 99))),
  ]

  @Test(arguments: valid)
  func `accepts`(_ expected: Valid) throws {
    let request = try #require(onlyRequest(in: expected.text))
    #expect(events(of: expected.text).count == 1)
    #expect(request.method == expected.method)
    #expect(request.path == expected.path)
    #expect(request.query == expected.query)
    #expect(request.authority == expected.authority)
    #expect(request.keepsAlive == expected.keepsAlive)
  }

  /// A text that is refused: by which status, and how many of its last bytes only show the error.
  struct Invalid: Sendable, CustomTestStringConvertible {
    var text: String
    var status: Int

    init(_ text: String, _ status: Int = 400) {
      self.text = text
      self.status = status
    }

    var testDescription: String { String(reflecting: text.prefix(80)) }
  }

  private static func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

  private static func post(_ fields: String, _ body: String) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
  }

  static let invalid: [Invalid] = [
    // Line ends (RFC 9112, section 2.2).
    Invalid("GET / HTTP/1.1\nHost: a\n\n"), Invalid("GET / HTTP/1.1\r\nHost: a\n\r\n"),
    Invalid("GET / HTTP/1.1\rHost: a\r\r\n"), Invalid("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n"),
    Invalid("\nGET / HTTP/1.1\r\n"), Invalid(get("X: a\r\r\n")),
    Invalid("\r\rGET\r\n"), Invalid(get("X: a\rb\r\n")), Invalid(get("X: a\nY: b\r\n")),
    // The request line (section 3).
    Invalid(" GET / HTTP/1.1\r\n\r\n"), Invalid("GET  / HTTP/1.1\r\n\r\n"),
    Invalid("GET /  HTTP/1.1\r\n\r\n"), Invalid("GET / HTTP/1.1 \r\n\r\n"), Invalid("GET /\r\n\r\n"),
    Invalid("GET\t/ HTTP/1.1\r\n\r\n"), Invalid("G@T / HTTP/1.1\r\n"), Invalid("GET / http/1.1\r\n\r\n"),
    Invalid("GET / HTTP/11\r\n\r\n"), Invalid("GET / HTTP/1.1x\r\n\r\n"), Invalid("GET / HTTP/1.\r\n\r\n"),
    Invalid("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), Invalid("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    Invalid("GET / HTTP/0.9\r\n\r\n", 505), Invalid("GET / HTTP/1.x\r\n\r\n"),
    Invalid("GET / HTTP/x.1\r\n\r\n"), Invalid("GET / HTTP/1,1\r\n\r\n"),
    Invalid(String(repeating: "A", count: 33) + " / HTTP/1.1\r\n", 501), Invalid("\u{16}\u{3}\u{1}\u{2}"),
    Invalid("{"),
    // The target (section 3.2, RFC 3986).
    Invalid("OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET x HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET http://a:99999/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET /?#x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET /%gg HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /?% HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /\u{0} HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET /\"x HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /ä HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"), Invalid("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    // Host (section 3.2).
    Invalid("GET / HTTP/1.1\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    Invalid("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: a:+1\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: [evil.com]\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: [10.0.0.1]:80\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: [v1.a]\r\n\r\n"),
    Invalid("GET http://[evil.com]/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n"),
    Invalid("GET / HTTP/1.1\r\nHost: a,b:1:2\r\n\r\n"), Invalid("GET / HTTP/1.1\r\nHost: ü\r\n\r\n"),
    Invalid("GET http://a/ HTTP/1.1\r\n\r\n"),
    // Fields (section 5).
    Invalid("GET / HTTP/1.1\r\n Host: a\r\n\r\n"), Invalid(get("X : a\r\n")), Invalid(get("X\r\n")),
    Invalid(get(": a\r\n")), Invalid(get("X: a\r\n b\r\n")), Invalid(get("X: a\r\n\tb\r\n")),
    Invalid(get("X: a\u{0}b\r\n")), Invalid(get("X: a\u{1b}b\r\n")), Invalid(get("X: a\u{7f}b\r\n")),
    Invalid(get("X(: a\r\n")), Invalid(get("\u{0}X: a\r\n")), Invalid(get("Ü: a\r\n")),
    // No request has a body, and none is taken for the next one (section 6, section 11.2).
    Invalid(post("Content-Length: 3", "abc"), 413), Invalid(post("Content-Length: 0003", "abc"), 413),
    Invalid(post("Content-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
    Invalid(post("Transfer-Encoding: chunked\r\nContent-Length: 3", "")),
    Invalid(post("Content-Length: 3\r\nContent-Length: 3", "a")), Invalid(post("Content-Length: 3, 3", "a")),
    Invalid(post("Content-Length: 0\r\nContent-Length: 0", "")), Invalid(post("Content-Length: +3", "abc")),
    Invalid(post("Content-Length: -1", "")), Invalid(post("Content-Length: 0x3", "")),
    Invalid(post("Content-Length:", "")), Invalid(post("Content-Length: 3 3", "")),
    Invalid(post("Content-Length: 99999999999999999999", ""), 413),
    Invalid(post("Content-Length: 9999999999999999x", "")),
    Invalid("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    Invalid(post("Transfer-Encoding: chunked", "1\r\na\r\n0\r\n\r\n")),
    Invalid(post("Transfer-Encoding:", "")),
    Invalid(post("Transfer-Encoding: identity", "")), Invalid(post("Transfer-Encoding: \u{b}chunked", "")),
    Invalid(post("Expect: 100-Continue\r\nContent-Length: 1", ""), 413),
    // Sizes (RFC 9112, section 3; RFC 9110, section 5.4).
    Invalid("GET /" + String(repeating: "a", count: 8192), 414),
    Invalid(String(repeating: "A", count: 9000) + " / HTTP/1.1\r\n\r\n", 414),
    Invalid(get("X: " + String(repeating: "a", count: 8192)), 431),
    Invalid(get(String(repeating: "a", count: 8192)), 431),
    Invalid(String(repeating: "\r\n", count: 4097), 414),
    Invalid(get(String(repeating: "a:\r\n", count: 100)), 431),
  ]

  @Test(arguments: invalid)
  func `refuses`(_ invalid: Invalid) throws {
    guard case .failure(let failure)? = events(of: invalid.text).last else {
      Issue.record("accepted")
      return
    }
    #expect(failure.status == invalid.status, "\(failure.reason)")
    #expect(!failure.reason.isEmpty)
  }

  /// The pieces in which bytes arrive say nothing about the request.
  @Test(arguments: valid.map(\.text) + invalid.map(\.text))
  func `does not depend on splits`(_ text: String) {
    let whole = "\(events(of: text))"
    let count = text.utf8.count
    #expect("\(events(of: text, splitAt: Array(1..<max(count, 1))))" == whole)
    for offset in stride(from: 1, to: count, by: max(1, count / 300))
    where "\(events(of: text, splitAt: [offset]))" != whole { Issue.record("split at \(offset) differs") }
  }

  @Test func `takes pipelined requests apart`() {
    let texts = Self.valid.filter { $0.keepsAlive }.map(\.text)
    #expect("\(events(of: texts.joined()))" == "\(texts.flatMap { events(of: $0) })")
    #expect(events(of: texts.joined()).count == texts.count)
  }

  @Test func `keeps fields in order and repairs their encoding`() throws {
    let bytes =
      Array("GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a:  2 3 \r\nB: ".utf8) + [0xFF, 0xC3, 0xA4]
      + Array("\r\n\r\n".utf8)
    guard case .success(let request)? = events(of: bytes).first else {
      Issue.record("no request")
      return
    }
    #expect(request.headers.values(of: "x-A") == ["1", "2 3"])
    #expect(request.headers["b"] == "\u{FFFD}ä")
    #expect(request.headers.fields.map(\.name) == ["Host", "X-A", "x-a", "B"])
  }

  @Test func `takes what is exactly at the limits`() {
    var limits = Endpoint.Configuration.Limits()
    (limits.headBytes, limits.headerCount) = (100, 2)
    let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
    let fitting = frame.replacing("X: ", with: "X: " + String(repeating: "a", count: 100 - frame.utf8.count))
    #expect(fitting.utf8.count == 100)
    #expect(events(of: fitting, limits: limits).count == 1)
    guard case .success? = events(of: fitting, limits: limits).first else {
      Issue.record("refused at the limit")
      return
    }
    guard case .failure? = events(of: fitting.replacing("X: ", with: "X: a"), limits: limits).first else {
      Issue.record("accepted above the limit")
      return
    }
    let padding = String(repeating: "a", count: 8192 - frame.utf8.count)
    #expect(onlyRequest(in: frame.replacing("X: ", with: "X: " + padding)) != nil)
  }

  @Test func `takes nothing after a failure`() {
    let following = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(events(of: "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n" + following).count == 1)
  }
}
