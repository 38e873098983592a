import TestSupport

@testable import TapLog

@Suite struct URLRedactorTests {
  private func redact(_ url: String, allowing keys: [String] = []) -> String {
    URLRedactor(allowedQueryKeys: keys).redact(url)
  }

  @Test func `hides userinfo, query values, fragment`() {
    let rows = [
      ("https://api.example.com/v1/users/42", "https://api.example.com/v1/users/42"),
      ("https://api.example.com/v1?token=s3cret", "https://api.example.com/v1?token=REDACTED"),
      ("https://a/?k=s3cret&l=s3cret", "https://a/?k=REDACTED&l=REDACTED"),
      ("https://a/?k=s3cret;l=s3cret", "https://a/?k=REDACTED;l=REDACTED"),
      ("https://a/?k=s3=cret", "https://a/?k=REDACTED"), ("https://a/?k=s3?cret", "https://a/?k=REDACTED"),
      ("https://a/?s3cret", "https://a/?REDACTED"), ("https://a/?=s3cret", "https://a/?=REDACTED"),
      ("https://a/?&&k=", "https://a/?&&k=REDACTED"), ("https://a?s3cret/x", "https://a?REDACTED"),
      ("https://a/#s3cret", "https://a/"), ("https://a/?k=s3cret#s3cret?l=s3cret", "https://a/?k=REDACTED"),
      ("https://a#s3cret", "https://a"), ("http://a.b-1:65535", "http://a.b-1:65535"),
      ("ftp://a/b@c", "ftp://REDACTED"), ("http://a/b@c", "http://a/b@c"), ("1http://a/b@c", "c"),
      ("https://s3cret@a/", "https://a/"), ("https://user:s3cret@a:8443/p", "https://a:8443/p"),
      ("https://user:s3c@ret@a/", "https://a/"), ("https://user%3As3cret@a/", "https://a/"),
      ("https://u:s3cret@[::1]:80/x", "https://[::1]:80/x"), ("https://[::1]/x", "https://[::1]/x"),
      ("https://a/x;jsessionid=s3cret/y;v1?q=s3cret", "https://a/x;jsessionid=REDACTED/y;v1?q=REDACTED"),
      ("https://bücher.example/ü?ü=s3cret", "https://bücher.example/ü?ü=REDACTED"),
      ("https://a/x;k=s3cret;l=s3cret/y", "https://a/x;k=REDACTED;l=REDACTED/y"),
      ("HTTPS://U:s3cret@A/", "HTTPS://A/"), ("a+b-c.d2://u:s3cret@h/x", "a+b-c.d2://h/x"),
    ]
    #expect(rows.map { redact($0.0) } == rows.map(\.1))
  }

  @Test func `hides the rest where userinfo cannot be distinguished from a host`() {
    let rows = [
      ("https://user:s3/cret@a/", "https://REDACTED"), ("https://user:s3?cret@a/", "https://REDACTED"),
      ("https://user:s3#cret@a/", "https://REDACTED"), ("https://user:65536", "https://REDACTED"),
      ("https://user:000000001", "https://REDACTED"), ("https://user:s3:cret", "https://REDACTED"),
      ("https://user%3As3cret%40a/", "https://REDACTED"), ("https://u:s3cret@\u{301}a/", "https://REDACTED"),
      ("https://s3#cret@b", "https://REDACTED"), ("https://s3?cret@b", "https://REDACTED"),
      ("postgres://u:1/2@b", "postgres://REDACTED"), ("https://[s3cret", "https://REDACTED"),
      ("https://[::1]s3cret", "https://REDACTED"), ("https:///u:s3cret@a/", "https://REDACTED"),
      ("https:/u:s3cret@a/", "https:REDACTED"), ("https:u:s3cret@a/", "https:REDACTED"),
      ("mailto:s3cret@example.com?s3cret=1", "mailto:REDACTED"), ("data:text/plain,s3cret", "data:REDACTED"),
      (" https://u:s3cret@a/x", "a/x"), ("ht tps://u:s3cret@a/x", "a/x"),
      ("//u:s3cret@a/x?k=s3cret", "a/x?k=REDACTED"), ("u/s3cret@a/x", "a/x"), ("//u:s3@cret@a/x", "a/x"),
    ]
    #expect(rows.map { redact($0.0) } == rows.map(\.1))
  }

  @Test func `copes with anything`() {
    let rows = [
      ("", ""), ("/", "/"), ("?", "?"), ("#", ""), ("@", ""), (":", ":"), ("a:", "a:REDACTED"),
      ("a:/", "a:REDACTED"), ("a://", "a://"), ("a://@", "a://"), ("a://:", "a://REDACTED"),
      ("a://[", "a://REDACTED"), ("a://?", "a://?"), ("example.com/x", "example.com/x"), (";", ";"),
      ("a;=", "a;=REDACTED"), ("a://b/;", "a://b/;"),
    ]
    #expect(rows.map { redact($0.0) } == rows.map(\.1))
  }

  @Test func `shows a path, and no secret of it`() {
    let rows = [
      ("/", "/"), ("/a/b?c=d#e", "/a/b"), ("/a;jsessionid=42/b", "/a;jsessionid=REDACTED/b"),
      ("/a@b/c", "/a@b/c"), ("//a/b", "//a/b"), ("*", "*"),
      ("http://user:password@example.com/a?b=c", "http://example.com/a"),
      ("user:password@example.com:443", "user:REDACTED"),
    ]
    #expect(rows.map { URLRedactor().redact($0.0, as: .path) } == rows.map(\.1))
    let redactor = URLRedactor(allowedPaths: ["/users/{id}"])
    let shown = ["/users/42?token=s3cret", "/else/42"].map { redactor.redact($0, as: .path) }
    #expect(shown == ["/users/REDACTED", "/REDACTED"])
  }

  @Test func `without the query, a text is the beginning of the whole, and of no other length`() {
    let urls = [
      "https://api.example.com/v1/users/42", "https://u:s3cret@a:8443/p?token=s3cret#s3cret",
      "https://user:s3?cret@a/", "https://s3#cret@b", "https://a?s3cret/x", "/orders/7?s3cret",
      "/a;b=s3cret/c",
      "https://a/x;k=s3cret;l=s3cret/y?z", "mailto:s3cret@example.com", "", "?s3cret",
    ]
    for url in urls {
      let form: URLRedactor.Form = url.first == "/" ? .path : .url
      let whole = URLRedactor().redact(url, as: form).prefix { $0 != "?" }
      for room in [1_024, 10, 0] {
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        defer { target.deallocate() }
        #expect(URLRedactor().redactWithoutQuery(url, to: target) == whole.utf8.count)
        #expect(target.prefix(whole.utf8.count).elementsEqual(whole.utf8.prefix(room)))
      }
    }
  }

  @Test func `shows the values of allowed keys, compared byte by byte`() {
    let url = "https://a/x;v=1;w=s3cret?page=2&flag&token=s3cret&Page=s3cret&p%61ge=s3cret"
    #expect(
      redact(url, allowing: ["page", "v", "flag"])
        == "https://a/x;v=1;w=REDACTED?page=2&flag&token=REDACTED&Page=REDACTED&p%61ge=REDACTED")
    #expect(
      redact("https://a/?id=1&id_token=s3cret&i=s3cret", allowing: ["id"])
        == "https://a/?id=1&id_token=REDACTED&i=REDACTED")
  }

  @Test func `shows of a path what its template has`() {
    let redactor = URLRedactor(
      allowedQueryKeys: ["page"], allowedPaths: ["/", "/users/{id}", "/users/{id}/*", "/*/x"])
    let rows = [
      (
        "https://u:s3cret@a/users/s3cret;sid=s3cret/x?t=s3cret&page=2&s3cret#s3cret",
        "https://a/users/REDACTED/x?t=REDACTED&page=2&REDACTED"
      ),
      ("https://a", "https://a"), ("https://a/", "https://a/"),
      ("https://a?k=s3cret", "https://a?k=REDACTED"),
      ("https://a/users/s3cret", "https://a/users/REDACTED"),
      ("https://a/users/s3cret;v=s3cret/", "https://a/users/REDACTED/"),
      ("https://a/users/s3cret/a/b;k=s3cret/c", "https://a/users/REDACTED/a/b;k=REDACTED/c"),
      ("https://a/x;k=s3cret/y", "https://a/REDACTED"), ("https://a/users//s3cret", "https://a/REDACTED"),
      ("users/s3cret?s3cret", "users/REDACTED?REDACTED"), ("https://a/*/x", "https://a/*/x"),
      ("https://a/s3cret/x", "https://a/REDACTED"),
    ]
    #expect(rows.map { redactor.redact($0.0) } == rows.map(\.1))
    // None is added where there is none, whatever the templates; without any, no path is shown.
    let others = [["/users/{id}"], []].map { URLRedactor(allowedPaths: PathTemplates($0)) }
    let shown = others.flatMap { other in ["https://a?k=s3cret", "https://a/b"].map { other.redact($0) } }
    #expect(
      shown == ["https://a?k=REDACTED", "https://a/REDACTED", "https://a?k=REDACTED", "https://a/REDACTED"])
  }

  @Test func `cuts between two characters, within the limit`() {
    let url = "https://a/ü🎈漢字/x?k=s3cret&ü=s3cret"
    let whole = "https://a/ü🎈漢字/x?k=REDACTED&ü=REDACTED"
    for limit in 0...40 {
      let text = written(url, limit: limit)
      let kept = text.dropLast()
      let isCut =
        text.hasSuffix("…") && whole.hasPrefix(kept) && (limit - 3...limit).contains(kept.utf8.count)
      #expect(whole.utf8.count <= limit ? text == whole : isCut, "\(limit): \(text)")
    }
  }

  /// A scheme in capitals is none of the plain URLs, which are shown after one look.
  @Test func `shows of a plain URL what the exact reading shows`() {
    var generator = SeededGenerator(seed: 1)
    let pieces = [
      "a", "b.c", "-", "_", ":", "8", "80", "65535", "65536", "/", "/", "@", "?", ";", "#", "=", "%40", "ü",
      "[", "]",
    ]
    for _ in 0..<Extent.of(1_000, extensive: 50_000) {
      let rest = (0..<Int.random(in: 0...7, using: &generator)).map { _ in
        pieces.randomElement(using: &generator) ?? ""
      }
      for scheme in ["http", "https"] {
        let url = "://" + rest.joined()
        #expect(redact(scheme + url) == scheme + redact(scheme.uppercased() + url).dropFirst(scheme.count))
      }
    }
  }

  private func written(_ url: String, limit: Int) -> String {
    let bytes = LineWriter.bytes(capacity: 1_024) { line in
      URLRedactor(allowedQueryKeys: []).redact(url, limit: limit, to: &line)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
