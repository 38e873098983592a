import TapEndpoint
import Testing

/// Which bytes a request may have at which place, and what its client is told of others.
@Suite struct GrammarTests {
  /// A place between two texts.
  struct Place: Sendable, CustomTestStringConvertible {
    var name: String
    var before: String
    var after: String
    var allowed: [UInt8]

    var testDescription: String { name }
  }

  private static let head = "GET / HTTP/1.1\r\nHost: a\r\n"

  private static func alphanumerics(and marks: String) -> [UInt8] {
    Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + marks).utf8)
  }

  /// RFC 9110, sections 5.5 and 5.6.2; RFC 3986, sections 3.2.2 to 3.4, and what browsers send beyond it.
  static let places: [Place] = [
    Place(
      name: "method", before: "G", after: "T / HTTP/1.1\r\nHost: a\r\n\r\n",
      allowed: alphanumerics(and: "!#$%&'*+-.^_`|~")),
    // A colon ends the name.
    Place(
      name: "field name", before: head + "X", after: "Y: a\r\n\r\n",
      allowed: alphanumerics(and: "!#$%&'*+-.^_`|~:")),
    Place(
      name: "field value", before: head + "X: a", after: "b\r\n\r\n",
      allowed: (UInt8.min ... .max).filter { $0 == 9 || $0 >= 32 && $0 != 127 }),
    Place(
      name: "host", before: "GET / HTTP/1.1\r\nHost: a", after: "b\r\n\r\n",
      allowed: alphanumerics(and: "-._~!$&'()*+,;=")),
    // A question mark ends the path.
    Place(
      name: "path", before: "GET /", after: " HTTP/1.1\r\nHost: a\r\n\r\n",
      allowed: alphanumerics(and: "-._~!$&'()*+,;=/:@?")),
    Place(
      name: "query", before: "GET /?", after: " HTTP/1.1\r\nHost: a\r\n\r\n",
      allowed: alphanumerics(and: "-._~!$&'()*+,;=/:@?[]\\^`{|}")),
  ]

  @Test(arguments: places)
  func `takes the bytes that belong there and no others`(_ place: Place) {
    let taken = (UInt8.min ... .max).filter { byte in
      let text = Array(place.before.utf8) + [byte] + Array(place.after.utf8)
      guard case .success? = events(of: text).first else { return false }
      return true
    }
    #expect(taken == place.allowed.sorted())
  }

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
    for (text, problem) in Self.problems {
      let told = events(of: text).map { event in
        guard case .failure(let failure) = event else { return "none" }
        return "\(failure.status) \(failure.reason)"
      }
      #expect(told == [problem], "\(String(reflecting: text.prefix(80)))")
    }
  }
}
