import TapEndpoint
import Testing

@Suite struct RequestParserTests {
  private typealias Event = Result<EndpointRequest, RequestParser.Failure>

  /// What a parser makes of bytes, given in pieces that end at the offsets.
  private static func events(
    of bytes: [UInt8], splitAt offsets: [Int] = [], limits: Endpoint.Configuration.Limits = .init()
  ) -> [Event] {
    var parser = RequestParser(limits: limits)
    var (events, start) = ([Event](), 0)
    for end in offsets + [bytes.count] {
      var input = bytes[start..<end]
      while !input.isEmpty { if let event = parser.next(from: &input) { events.append(event) } }
      start = end
    }
    return events
  }

  private static func events(of text: String, limits: Endpoint.Configuration.Limits = .init()) -> [Event] {
    events(of: Array(text.utf8), limits: limits)
  }

  /// `GET /a?b a` for a request with its query and authority, `stays` if its connection does, and the status
  /// of a failure with its reason.
  private static func text(_ event: Event) -> String {
    switch event {
    case .success(let request):
      let query = request.query.map { "?\($0)" } ?? ""
      let authority = request.authority.map { " \($0)" } ?? ""
      return "\(request.method) \(request.path)\(query)\(authority)\(request.keepsAlive ? " stays" : "")"
    case .failure(let failure): return "\(failure.status) \(failure.reason)"
    }
  }

  private static func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

  private static let longestMethod = String(repeating: "A", count: 32)

  /// The lines of heads, with bars between them.
  private static let valid: [(lines: String, request: String)] = [
    ("||GET / HTTP/1.1|Host: a", "GET / a stays"),
    ("GET /metrics?name[]=up&x=%20 HTTP/1.1|Host: a", "GET /metrics?name[]=up&x=%20 a stays"),
    ("GET /? HTTP/1.1|Host: a", "GET /? a stays"),
    ("GET /%6detrics%2f%2Fx HTTP/1.1|Host: a", "GET /%6detrics%2f%2Fx a stays"),
    ("GET http://b.example:80/x?y HTTP/1.1|Host: a", "GET /x?y b.example:80 stays"),
    ("GET HTTPS://b HTTP/1.1|Host: a", "GET / b stays"),
    ("GET http://[::1]:9464?q HTTP/1.1|Host: a", "GET /?q [::1]:9464 stays"),
    ("OPTIONS * HTTP/1.1|Host: a", "OPTIONS * a stays"), ("GET / HTTP/1.0", "GET /"),
    ("GET / HTTP/1.0|Connection: Keep-Alive", "GET / stays"), ("GET / HTTP/1.0|Host: b", "GET / b"),
    ("GET / HTTP/1.7|Host: a", "GET / a stays"), ("get / HTTP/1.1|Host: a", "get / a stays"),
    ("GET / HTTP/1.1|Host: a|Connection: foo , CLOSE, keep-alive", "GET / a"),
    ("GET / HTTP/1.1|Host: a|Connection: x|Connection: close", "GET / a"),
    ("GET / HTTP/1.1|Host: a|Connection: closed, not-close", "GET / a stays"),
    ("GET / HTTP/1.0|Connection: keep-alive, close", "GET /"),
    ("GET / HTTP/1.0|Connection: x|Connection: keep-alive", "GET / stays"),
    ("GET / HTTP/1.1|Host:a|X:|Y: \t |Z:\tz \t", "GET / a stays"),
    ("GET / HTTP/1.1|Host: [fe80::1%25eth0]:1", "GET / [fe80::1%25eth0]:1 stays"),
    ("GET / HTTP/1.1|hOST: a:", "GET / a: stays"),
    ("GET / HTTP/1.1|Host: a%2Db:65535", "GET / a%2Db:65535 stays"),
    ("POST / HTTP/1.1|Host: a|Content-Length: 0", "POST / a stays"),
    ("GET / HTTP/1.1|Host: a|Content-Length: 000|Expect: 100-continue", "GET / a stays"),
    ("\(longestMethod) / HTTP/1.1|Host: a", "\(longestMethod) / a stays"),
    ("GET / HTTP/1.1|Host: a" + String(repeating: "|a:", count: 99), "GET / a stays"),
  ]

  private static let validTexts = valid.map { $0.lines.replacing("|", with: "\r\n") + "\r\n\r\n" }

  @Test func `accepts requests`() {
    #expect(Self.validTexts.map { Self.events(of: $0).map(Self.text) } == Self.valid.map { [$0.request] })
  }

  private static func post(_ fields: String, _ body: String = "") -> String {
    "POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
  }

  // Texts that are refused by 400.

  /// RFC 9112, section 2.2.
  private static let lineEnds = [
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\rHost: a\r\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", "\nGET / HTTP/1.1\r\n", "\r\rGET\r\n", get("X: a\r\r\n"),
    get("X: a\rb\r\n"), get("X: a\nY: b\r\n"),
  ]

  /// Section 3.
  private static let requestLines = [
    " GET / HTTP/1.1", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET\t/ HTTP/1.1",
    "G@T / HTTP/1.1", "GET / http/1.1", "GET / HTTP/1.1x", "GET / HTTP/1.", "GET / HTTP/1.x",
    "GET / HTTP/x.1",
    "GET / HTTP/1,1", "\u{16}\u{3}\u{1}\u{2}",
  ].map { $0 + "\r\n\r\n" }

  /// Section 3.2, and RFC 3986.
  private static let targets = [
    "OPTIONS *x", "GET x", "GET *", "GET ftp://a/", "GET http:///x", "GET http://u@a/", "GET http://a:99999/",
    "GET /#x", "GET /?#x", "GET /%4", "GET /%gg", "GET /?%", "GET /%00", "GET /%41\"", "CONNECT a:80",
    "GET http://[evil.com]/",
  ].map { $0 + " HTTP/1.1\r\nHost: a\r\n\r\n" }

  /// Section 3.2.
  private static let hosts = [
    "X: a", "Host: a\r\nhost: a", "Host:", "Host: a:65536", "Host: a:+1", "Host: a b", "Host: a:b",
    "Host: a/b",
    "Host: u@a", "Host: [evil.com]", "Host: [10.0.0.1]:80", "Host: [v1.a]", "Host: [::1", "Host: [::1]x",
    "Host: a,b:1:2", "Host: ü",
  ].map { "GET / HTTP/1.1\r\n\($0)\r\n\r\n" }

  /// Section 5.
  private static let fields = [
    "X : a", "X", ": a", "X: a\r\n b", "X: a\r\n\tb", "X: a\u{0}b", "Ü: a",
  ].map { get($0 + "\r\n") }

  /// No request has a body, and none is taken for the next one (section 6, section 11.2).
  private static let bodies = [
    post("Content-Length: 3\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    post("Transfer-Encoding: chunked\r\nContent-Length: 3"),
    post("Content-Length: 3\r\nContent-Length: 3", "a"), post("Content-Length: 3, 3", "a"),
    post("Content-Length: 0\r\nContent-Length: 0"), post("Content-Length: +3", "abc"),
    post("Content-Length: 0x3"), post("Content-Length:"), post("Content-Length: 9999999999999999x"),
    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    post("Transfer-Encoding: chunked", "1\r\na\r\n0\r\n\r\n"), post("Transfer-Encoding:"),
  ]

  private static let others: [(String, Int)] = [
    ("GET http://a/ HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", 400),
    ("GET / HTTP/0.9\r\n\r\n", 505), (post("Content-Length: 0003", "abc"), 413),
    (post("Content-Length: 99999999999999999999"), 413), (String(repeating: "\r\n", count: 4097), 414),
  ]

  /// What is refused, and by which status.
  static let invalid: [(text: String, status: Int)] = {
    let malformed = [lineEnds, requestLines, targets, hosts, fields, bodies].flatMap { $0 }
    return malformed.map { ($0, 400) } + others + problems.map { ($0.text, Int($0.problem.prefix(3)) ?? 0) }
  }()

  @Test func `refuses what is invalid`() {
    let accepted = Self.invalid.filter { text, status in
      guard case .failure(let failure)? = Self.events(of: text).last else { return true }
      return failure.status != status
    }
    #expect(accepted.map { String(reflecting: $0.text.prefix(80)) } == [])
  }

  /// The pieces in which bytes arrive say nothing about the request.
  @Test func `does not depend on splits`() {
    for text in Self.validTexts + Self.invalid.map(\.text) {
      let bytes = Array(text.utf8)
      let whole = "\(Self.events(of: bytes))"
      let single = stride(from: 1, to: bytes.count, by: max(1, bytes.count / 300)).map { [$0] }
      let different = (single + [Array(1..<bytes.count)]).filter {
        "\(Self.events(of: bytes, splitAt: $0))" != whole
      }
      if !different.isEmpty { Issue.record("\(String(reflecting: text.prefix(80))): \(different)") }
    }
  }

  @Test func `takes pipelined requests apart`() {
    let rows = zip(Self.valid, Self.validTexts).filter { $0.0.request.hasSuffix(" stays") }
    let requests = Self.events(of: rows.map(\.1).joined()).map(Self.text)
    #expect(requests == rows.map(\.0.request))
  }

  @Test func `keeps fields in order and repairs their encoding`() throws {
    let bytes =
      Array("GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a:  2 3 \r\nB: ".utf8) + [0xFF, 0xC3, 0xA4]
      + Array("\r\n\r\n".utf8)
    let headers = try #require(Self.events(of: bytes).first).get().headers
    let fields = headers.fields.map { "\($0.name): \($0.value)" }
    #expect(fields == ["Host: a", "X-A: 1", "x-a: 2 3", "B: \u{FFFD}ä"])
  }

  @Test func `takes what is exactly at the limits`() {
    var limits = Endpoint.Configuration.Limits()
    (limits.headBytes, limits.headerCount) = (100, 2)
    let frame = Self.get("X: \r\n")
    func fitting(_ count: Int) -> String {
      frame.replacing("X: ", with: "X: " + String(repeating: "a", count: count - frame.utf8.count))
    }
    let texts =
      [fitting(100), fitting(101)].flatMap { Self.events(of: $0, limits: limits).map(Self.text) }
      + Self.events(of: fitting(8192)).map(Self.text)
    #expect(texts == ["GET / a stays", "431 a head of more than 100 bytes", "GET / a stays"])
  }

  @Test func `takes nothing after a failure`() {
    #expect(Self.events(of: Self.get("Content-Length: x\r\n") + Self.get("")).count == 1)
  }

  private static func alphanumerics(and marks: String) -> [UInt8] {
    Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + marks).utf8)
  }

  /// A place between two texts, and the bytes that may stand there: RFC 9110, sections 5.5 and 5.6.2; RFC
  /// 3986, sections 3.2.2 to 3.4, and what browsers send beyond it. A colon ends a field's name, and a
  /// question mark a path.
  private static let places: [(name: String, before: String, after: String, allowed: [UInt8])] = [
    ("method", "G", "T / HTTP/1.1\r\nHost: a\r\n\r\n", alphanumerics(and: "!#$%&'*+-.^_`|~")),
    ("field name", head + "X", "Y: a\r\n\r\n", alphanumerics(and: "!#$%&'*+-.^_`|~:")),
    (
      "field value", head + "X: a", "b\r\n\r\n",
      (UInt8.min ... .max).filter { $0 == 9 || $0 >= 32 && $0 != 127 }
    ),
    ("host", "GET / HTTP/1.1\r\nHost: a", "b\r\n\r\n", alphanumerics(and: "-._~!$&'()*+,;=")),
    ("path", "GET /", " HTTP/1.1\r\nHost: a\r\n\r\n", alphanumerics(and: "-._~!$&'()*+,;=/:@?")),
    (
      "query", "GET /?", " HTTP/1.1\r\nHost: a\r\n\r\n",
      alphanumerics(and: "-._~!$&'()*+,;=/:@?[]\\^`{|}")
    ),
  ]

  @Test func `takes the bytes that belong to a place and no others`() {
    let taken = Self.places.map { place in
      (UInt8.min ... .max).filter { byte in
        let events = Self.events(of: Array(place.before.utf8) + [byte] + Array(place.after.utf8))
        return if case .success? = events.first { true } else { false }
      }
    }
    for (place, taken) in zip(Self.places, taken) where taken != place.allowed.sorted() {
      Issue.record("\(place.name): \(taken)")
    }
  }

  private static let head = "GET / HTTP/1.1\r\nHost: a\r\n"

  private static let problems: [(text: String, problem: String)] = [
    ("{", "400 the request does not begin with a method"),
    ("GET\r\n", "400 the first line is no request line"),
    (String(repeating: "A", count: 33) + " / HTTP/1.1\r\n", "501 a method of more than 32 bytes"),
    ("GET / HTTP/1.10\r\n", "400 invalid HTTP version"),
    ("GET / HTTP/2.0\r\n", "505 this server speaks HTTP/1.1"),
    ("GET x HTTP/1.1\r\n", "400 the target is neither a path nor an http URL"),
    ("GET http://u@a/ HTTP/1.1\r\n", "400 invalid authority in the target"),
    ("GET /[ HTTP/1.1\r\n", "400 invalid byte in the path"),
    ("GET /?< HTTP/1.1\r\n", "400 invalid byte in the query"),
    ("GET / HTTP/1.1\n", "400 a line does not end in CRLF"),
    (head + "X\r\n", "400 a field without a valid name"),
    (head + " X: a\r\n", "400 a field without a valid name"),
    (head + "X: \u{0}\r\n", "400 invalid byte in a field value"),
    (head + String(repeating: "a:\r\n", count: 100), "431 more than 100 header fields"),
    (head + "Host: a\r\n\r\n", "400 no Host field, more than one, or an invalid one"),
    (head + "Transfer-Encoding: chunked\r\n\r\n", "400 a body, which no request here has"),
    (head + "Content-Length: x\r\n\r\n", "400 more than one Content-Length, or an invalid one"),
    (head + "Content-Length: 1\r\n\r\n", "413 a body, which no request here has"),
    (String(repeating: "A", count: 8193), "414 a request line of more than 8192 bytes"),
    (head + String(repeating: "A", count: 8192), "431 a head of more than 8192 bytes"),
  ]

  /// The answer's body says it to whoever has written the client.
  @Test func `says what is wrong with a request`() {
    #expect(
      Self.problems.map { Self.events(of: $0.text).map(Self.text) } == Self.problems.map { [$0.problem] })
  }
}
