import TestSupport

@Suite struct RequestObservationTests {
  @Test func `it ends after its duration, and at the last moment that there is`() {
    let rows: [(start: Int64, duration: Duration, end: Int64)] = [
      (5, .nanoseconds(3), 8), (5, .nanoseconds(-3), 5), (5, .nanoseconds(Int64.max), .max),
      (.max, .nanoseconds(1), .max), (-5, .nanoseconds(3), -2),
    ]
    let ends = rows.map { row in
      let start = Timestamp(nanosecondsSinceEpoch: row.start)
      return with(RequestObservation.bare()) { ($0.start, $0.duration) = (start, row.duration) }.endTime
    }
    #expect(ends == rows.map { Timestamp(nanosecondsSinceEpoch: $0.end) })
  }

  /// What was said of an error is for people: it shows no credentials.
  @Test func `userinfo is removed from the text of an error, which stays as it is without any`() {
    func message(_ text: String) -> String? {
      with(RequestObservation.bare()) { $0.errorMessage = text }.errorMessage
    }
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
    #expect(rows.map { message($0.0) } == rows.map(\.1))
    let plain = ["", "Could not resolve host: a", "http://a:80/x: refused", "100% of 'it'", "%4", "%41"]
    #expect(plain.map(message) == plain)
  }
}
