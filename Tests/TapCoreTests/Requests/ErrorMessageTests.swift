import TestSupport

/// What was said of an error is for people: it shows no credentials.
@Suite struct ErrorMessageTests {
  private func message(_ text: String) throws -> String? {
    let observer = RecordingObserver()
    let recorder = try RequestRecorder(registry: Registry(), consumers: [observer])
    recorder.outbound.begin(client: "c", method: "GET", url: "http://a.test/").fail(message: text)
    recorder.drain()
    return observer.ended.first?.errorMessage
  }

  @Test func `userinfo is removed, and what has none stays as it is`() throws {
    let rows = [
      (
        "Unsupported proxy syntax in 'http://user:s3cret@127.0.0.1:99999'",
        "Unsupported proxy syntax in 'http://REDACTED@127.0.0.1:99999'"
      ),
      (
        "Unsupported proxy syntax in 'user:s3 cret@127.0.0.1:99999'",
        "Unsupported proxy syntax in 'REDACTED@127.0.0.1:99999'"
      ),
      ("no proxy `user:s3 cret@a`", "no proxy `REDACTED@a`"),
      (#"no proxy "user:s3 cret@a""#, #"no proxy "REDACTED@a""#), ("no\nuser:s3cret@a", "no\nREDACTED@a"),
      ("no route to git+ssh://u:s3cret@a", "no route to git+ssh://REDACTED@a"),
      ("no route to socks5h://s3cret@proxy", "no route to socks5h://REDACTED@proxy"),
      ("no route to user:s3cret@proxy", "no route to REDACTED@proxy"),
      ("https://u:s3/cr?e#t@a and http://u:s3cret@b", "https://REDACTED@b"),
      ("https://u:s3 cr'et@a: refused", "https://REDACTED@a: refused"),
      ("Could not resolve host: user%3As3cret%40host", "Could not resolve host: REDACTED%40host"),
      ("http://user:se:cret@\u{301}host/x", "http://REDACTED@\u{301}host/x"),
      ("can't get http://u:s3cret@a", "can'REDACTED@a"), ("@", "REDACTED@"),
      // Of a long text too, beyond what a line shows.
      ("http://u:" + String(repeating: "s3cret", count: 100_000) + "@a", "http://REDACTED@a"),
    ]
    #expect(try rows.map { try message($0.0) } == rows.map(\.1))
    let plain = ["", "Could not resolve host: a", "http://a:80/x: refused", "100% of 'it'", "%4", "%41"]
    #expect(try plain.map(message) == plain)
  }
}
