import TestSupport

@testable import TapCore

/// What is read from the text of a URL is what Foundation would say.
@Suite struct URLAuthorityTests {
  @Test func `any URL with a host is read`() {
    let rows: [(url: String, host: String, port: Int?)] = [
      ("http://a.test", "a.test", 80), ("https://a.test/", "a.test", 443),
      ("http://a.test:8080/x:y@z?q", "a.test", 8_080), ("http://a.test?x=[::1]:1", "a.test", 80),
      ("https://A-1.Test:65535?x", "a-1.test", 65_535), ("http://127.0.0.1:0#f", "127.0.0.1", 0),
      ("http://a.test:/", "a.test", 80), ("http://a%2Etest/", "a%2Etest", 80),
      ("https://a.test/@me?to=b@c#d@e", "a.test", 443), ("https://u:p@a.test/@me", "a.test", 443),
      ("http://müller.test/", "müller.test", 80), ("http://例え.テスト:8080/", "例え.テスト", 8_080),
      ("http://xn--mller-kva.test/", "xn--mller-kva.test", 80), ("http://a.test:000080/", "a.test", 80),
      ("http://user:p@ss@a.test/x", "a.test", 80), ("HTTPS://A.test", "a.test", 443),
      ("http://LocalHost:1/", "localhost", 1),
      ("http://user:1@[::1]:2/", "::1", 2), ("https://[fe80::1%25eth0]/", "fe80::1%25eth0", 443),
      ("https://[::1]:8443/x", "::1", 8_443), ("http://[::1]", "::1", 80), ("ws://a.test:9/", "a.test", 9),
      ("ftp://a.test/", "a.test", nil), ("postgres://u:p@db:5432/x?y=z", "db", 5_432),
      ("http://a_b.test:1", "a_b.test", 1), ("http://[::ffff:127.0.0.1]:81/", "::ffff:127.0.0.1", 81),
      ("https://[2001:DB8::A]", "2001:db8::a", 443), ("http://a.test:00000080", "a.test", 80),
      ("https://[fe80::1%251]:8/", "fe80::1%251", 8),
    ]
    let read = rows.map { URLAuthority($0.url) }
    #expect(read.map { $0?.host } == rows.map(\.host) && read.map { $0?.port } == rows.map(\.port))
  }

  @Test func `without a host, or where something else may be meant, there is none`() {
    let urls = [
      "", "/path", "http:", "http:/", "http://", "http:///x", "http://[::1", "http://user@/", "a.test:80",
      "//a.test/", "http:a.test", "/x?u=http://a.test/", "http://:80/", "http://[]/",
      // Encoded userinfo is no host; nor is what it leaves where it should have been encoded.
      "http://user%3Apass%40host.invalid/", "http://user%3apass%40host.invalid/",
      "http://user%253Apass%2540host/", "http://user:se:cret@\u{301}host/x",
      "http://user:secret\u{FF20}host/",
      "http://user\u{FF1A}secret/", "postgres://u:p/w@db", "http://u:p#w@db/x", "http://u:p?w@db/x",
      "postgres://u:1/2@db", "http://u:1#2@db/x", "http://u:1?2@db/x", "http://tok#en@db/",
      "redis://tok/en@db",
      "postgres://u:p@db/x@y", "http://se:cret", "http://a:b:80/", "http://a.test:8x/",
      "http://a.test:99999/",
      "http://a.test:123456789/", "http://a b/", "http://a,b/", "http://a;b=c/", "http://u:p\\@",
      "http://a%4/",
      "http://a%zz/", "http://a\0b/", "http://[secret]/", "http://[a:b]/", "http://[::1]secret/",
      "http://[::1]secret:80/", "http://[::1%25a@b]/", "http://[::1]s", "http://[::1]s80/",
      "http://[::1secret]/", "http://[::1%25]/", "http://a.test:65536/", "ws://a.test:65536/",
      "http://a.test:000000080", "http://a%2E,b/", "http://[::g]/",
    ]
    #expect(urls.filter { URLAuthority($0) != nil } == [])
  }

  @Test func `a name is plain if it is of these bytes`() {
    let plain = (UInt8.min...UInt8.max).filter(\.isUnreserved)
    let text = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
    #expect(String(decoding: plain, as: UTF8.self) == text)
  }

  @Test func `what is written plainly is read as Foundation reads it`() throws {
    let parts = [
      "http://", "https://", "http:", "a", "A", "b.test", "xn--", "-", "--", ".", "..", "127.0.0.1", ":",
      ":80", ":65535",
      ":99999", ":007", "@", "[::1]", "%41", "/", "?", "#", "_", "~", "é", "0", "9", "\\", "!", " ", "",
    ]
    var random = SeededGenerator(seed: 1)
    var readCount = 0
    let count = Extent.of(20_000, extensive: 200_000)
    for _ in 0..<count {
      let text =
        ["http://", "https://"].randomElement(using: &random).map { scheme in
          (0..<Int.random(in: 1...5, using: &random)).reduce(into: scheme) { text, _ in
            text += parts.randomElement(using: &random) ?? ""
          }
        } ?? ""
      guard let url = URL(string: text) else { continue }
      let absolute = url.absoluteString
      // Foundation decodes these, and takes any number for a port.
      guard let authority = URLAuthority(absolute), !authority.host.contains("%"),
        !authority.host.contains("--")
      else { continue }
      readCount += 1
      try #require(authority.host == url.host?.lowercased(), "\(text)")
      try #require(authority.port == url.port ?? (url.scheme == "https" ? 443 : 80), "\(text)")
    }
    #expect(readCount > count / 20)
  }
}
