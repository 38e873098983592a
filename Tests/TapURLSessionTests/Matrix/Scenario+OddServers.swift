import TestSupport

extension Scenario {
  /// A server that answers wrongly. What stock itself does not survive is left out: see the article *What
  /// ends a process*.
  static let oddServers = [framing, interim, heads, statuses, locations, contents].flatMap(\.self)

  /// Bodies that are not as long as the head says.
  private static let framing: [Scenario] = [
    odd(
      "Content-Length and chunked", answered, "\(ok)Content-Length: 2\r\n\(chunked)5\r\nhello\r\n0\r\n\r\n"),
    // From 8.17 on libcurl reads no response with two lengths.
    odd("two lengths, the second right", isStrict ? notHTTP : answered, "\(ok)Content-Length: 3\r\n\(hello)"),
    odd("a negative length", notHTTP, "\(ok)\(length(-5))\r\nhello"),
    // 512 less than what Foundation cannot convert.
    odd("the largest length", lost, head: 200, "\(ok)\(length(.max - 512))\r\nhello"),
    odd("a length beyond 64 bits", answered, "\(ok)Content-Length: 99999999999999999999\r\n\r\nhello"),
    odd("a length too small", answered, "\(ok)\(length(2))\r\nhello"),
    odd("the largest length, to HEAD", answered, method: "HEAD", "\(ok)\(length(.max - 512))\r\n"),
    odd("a body to HEAD", answered, method: "HEAD", "\(ok)\(hello)"),
    odd("a body with 204", .response(statusCode: 204), "HTTP/1.1 204 No Content\r\n\(hello)"),
    odd("a chunk that ends early", lost, head: 200, "\(ok)\(chunked)ff\r\nhello"),
    odd("a chunk without a size", brokenBody, head: 200, "\(ok)\(chunked)zz\r\nhello\r\n"),
    odd("nothing after the head", answered, "\(ok)\r\n"),
  ]

  /// Heads that are not the answer's, or that come too early.
  private static let interim: [Scenario] = [
    odd("103 and no answer", lost, head: nil, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    odd("102 and an answer", answered, "HTTP/1.1 102 Processing\r\n\r\n\(ok)\(hello)"),
    odd(
      "101 that was not asked for", .response(statusCode: 101),
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\nhello"),
    // An upload may see its answer before its body is sent, and then what the server gets of it is a matter
    // of luck.
    Scenario(
      name: "an answer before the request", end: answered, greeting: [.text("\(ok)\(hello)")],
      script: { _, _, _ in [.close] }, applies: { kind, style in chosen(kind, style) && !kind.sendsBody }),
  ]

  private static let heads: [Scenario] = [
    odd("HTTP/0.9", notHTTP, "just a body\r\n"),
    odd("HTTP/1.0 without a length", answered, "HTTP/1.0 200 OK\r\n\r\nhello"),
    // From 8.0 on any version that libcurl does not know is 1.0.
    odd("HTTP/3.7", isCurl("8.0") ? answered : notHTTP, "HTTP/3.7 200 OK\r\n\(hello)"),
    odd("lines without a carriage return", unreadable, "HTTP/1.1 200 OK\n\(length(5))\nhello"),
    odd("200 kB of headers", answered, ok + headers(200) + hello),
    odd("2 MB of headers", notHTTP, ok + headers(2_000) + hello),
    odd(
      "ill-formed UTF-8 in a header", unreadable,
      bytes: Array("\(ok)X-Bad: ".utf8) + illFormed + Array("\r\n\(hello)".utf8)),
    odd("NUL in a header", notHTTP, "\(ok)X-Bad: a\0b\r\n\(hello)"),
    odd("a header without a colon", notHTTP, "\(ok)nonsense\r\n\(hello)"),
    odd("a header without a name", unreadable, "\(ok): value\r\n\(hello)"),
    odd("a header on two lines", answered, "\(ok)X-Long: a\r\n b\r\n\(hello)"),
  ]

  private static let statuses: [Scenario] = [
    // From 8.9 on Foundation gets the head before libcurl refuses it, and cannot read it.
    odd("status 099", isCurl("8.9") ? unreadable : notHTTP, "HTTP/1.1 099 Low\r\n\(hello)"),
    odd("status 600", .response(statusCode: 600), "HTTP/1.1 600 High\r\n\(hello)"),
    odd("status -200", notHTTP, "HTTP/1.1 -200 OK\r\n\(hello)"),
    odd("no reason", unreadable, "HTTP/1.1 200\r\n\(hello)"),
  ]

  /// Redirects to nowhere. Foundation takes the path, query and host of a location that it cannot use as it
  /// stands, and asks the same server.
  private static let locations: [Scenario] = [
    redirect("to itself", to: "/", always: true, end: .failure(.tooManyRedirects, statusCode: nil)),
    redirect("without a location", to: nil, end: .response(statusCode: 302)),
    // Foundation drops its body.
    with(
      odd("a body with 302, and no location", .response(statusCode: 302), "HTTP/1.1 302 Found\r\n\(hello)")
    ) {
      $0.contentSize = 5
    },
    redirect("to an empty location", to: "", end: .response(statusCode: 302)),
    redirect("to what is no URL", to: "//[::1", end: .response(statusCode: 302)),
    redirect("to no host", to: "//:80/", end: .failure(.unsupportedURL, statusCode: nil)),
    redirect("to data:", to: "data:text/plain,hello"),
    redirect("to ftp:", to: "ftp://127.0.0.1/file", end: .failure(.unsupportedURL, statusCode: nil)),
    redirect("to two slashes", to: "//"),
  ]

  private static let contents: [Scenario] = [
    odd("gzip that is none", brokenBody, head: 200, "\(ok)Content-Encoding: gzip\r\n\(hello)"),
    with(
      Scenario(
        "gzip that ends early",
        .response(headers: [("Content-Encoding", "gzip")], body: Array(gzipBody.prefix(20))), .close)
    ) { ($0.contentSize, $0.applies) = (20, chosen) },
    // libcurl decodes a transfer coding that it has not asked for.
    transferCoded("gzip", gzipBody),
    transferCoded(
      "gzip, chunked",
      Array("\(String(gzipBody.count, radix: 16))\r\n".utf8) + gzipBody + Array("\r\n0\r\n\r\n".utf8)),
    odd("an unknown coding", brokenBody, head: 200, "\(ok)Content-Encoding: new\r\n\(hello)"),
  ]

  private static let brokenBody = RequestEnd.failure(.body, statusCode: nil)
  /// What libcurl does not take for a head.
  private static let notHTTP = RequestEnd.failure(.invalidResponse, statusCode: nil)
  /// A head that Foundation cannot read, from 8.7 on without a word that says so.
  private static let unreadable = isCurl("8.7") ? RequestEnd.failure(.other, statusCode: nil) : notHTTP

  private static let isStrict = isCurl("8.17")
  private static let ok = "HTTP/1.1 200 OK\r\n"
  private static let hello = "Content-Length: 5\r\n\r\nhello"
  private static let chunked = "Transfer-Encoding: chunked\r\n\r\n"
  private static let illFormed: [UInt8] = [0xff, 0xfe, 0xc3, 0x28]

  private static func length(_ value: Int) -> String { "Content-Length: \(value)\r\n" }

  private static func headers(_ count: Int) -> String {
    (0..<count).map { "X-\($0): \(String(repeating: "v", count: 1_000))\r\n" }.joined()
  }

  /// One upload and the download in two styles stand for the others: what differs between kinds is where the
  /// body goes, which the scenarios of right answers try in full.
  private static let chosen: @Sendable (Kind, Style) -> Bool = { kind, style in
    switch kind {
    case .data: style != .taskDelegate
    case .uploadData: style == .completionHandler
    case .download: style == .async || style == .sessionDelegate
    case .uploadFile, .uploadStream: false
    }
  }

  /// A server that sends this and closes the connection.
  private static func odd(
    _ name: String, _ end: RequestEnd, head: Int? = nil, method: String? = nil, _ answer: String
  ) -> Scenario {
    odd(name, end, head: head, method: method, bytes: Array(answer.utf8))
  }

  private static func odd(
    _ name: String, _ end: RequestEnd, head: Int? = nil, method: String? = nil, bytes: [UInt8]
  ) -> Scenario {
    Scenario(
      name: name, end: end, headStatus: head, method: method, script: { _, _, _ in [.send(bytes), .close] },
      applies: { kind, style in chosen(kind, style) && (method == nil || kind == .data) })
  }

  /// A transfer coding that the client has not asked for.
  private static func transferCoded(_ coding: String, _ body: [UInt8]) -> Scenario {
    let head = Array("\(ok)Transfer-Encoding: \(coding)\r\n\r\n".utf8)
    return with(odd("Transfer-Encoding: \(coding)", answered, bytes: head + body)) {
      $0.contentSize = gzipBody.count
      // Later ones refuse it.
      $0.applies = { kind, style in chosen(kind, style) && !isStrict }
    }
  }

  /// A server that redirects once, or always.
  private static func redirect(
    _ name: String, to location: String?, always: Bool = false, end: RequestEnd = answered
  ) -> Scenario {
    Scenario(
      name: "redirect \(name)", end: end,
      script: { earlier, _, _ in
        [earlier == 0 || always ? .redirect(to: location) : .response(body: Array("hello".utf8))]
      }, applies: chosen)
  }
}
