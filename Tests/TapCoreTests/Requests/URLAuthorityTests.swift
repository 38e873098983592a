import Foundation
import TestSupport
import Testing

@testable import TapCore

/// What is read from the text of a URL is what Foundation would say.
@Suite struct URLAuthorityTests {
  @Test(arguments: [
    ("http://a.test", "a.test", 80), ("https://a.test/", "a.test", 443),
    ("http://a.test:8080/x:y@z?q", "a.test", 8080),
    ("https://A-1.Test:65535?x", "A-1.Test", 65_535), ("http://127.0.0.1:0#f", "127.0.0.1", 0),
    ("http://localhost:80", "localhost", 80), ("http://a.test?x=[::1]", "a.test", 80),
  ])
  func `plain ones are read`(url: String, host: String, port: Int) throws {
    let authority = try #require(URLAuthority(plain: url))
    #expect(authority.host == host)
    #expect(authority.port == port)
  }

  @Test(arguments: [
    "", "http", "http:", "http:/", "http://", "http:///path", "http:a.test", "HTTP://a.test",
    "httpx://a.test", "ftp://a.test",
    "http://user@a.test/", "http://user:80@a.test/", "http://[::1]:8080/", "http://a%2Etest/",
    "http://a_b.test/",
    "http://xn--mller-kva.test/", "http://a.xn--p1ai/", "http://müller.test/", "http://a.test:/",
    "http://a.test:65536/",
    "http://a.test:000080/", "http://a.test:-1/", "http://a.test:8x/", "/path", "//a.test/",
  ])
  func `others are left to Foundation`(url: String) {
    #expect(URLAuthority(plain: url) == nil)
  }

  @Test(
    arguments: [
      ("http://user:p@ss@a.test/x", "a.test", 80), ("HTTPS://A.test", "A.test", 443),
      ("https://[::1]:8443/x", "::1", 8_443), ("http://[::1]", "::1", 80), ("ws://a.test:9/", "a.test", 9),
      ("ftp://a.test/", "a.test", nil), ("http://a.test:99999/", "a.test", 80),
      ("http://a_b.test:1", "a_b.test", 1),
    ] as [(String, String, Int?)])
  func `any URL with a host is read`(url: String, host: String, port: Int?) throws {
    let authority = try #require(URLAuthority(url))
    #expect(authority.host == host)
    #expect(authority.port == port)
  }

  @Test(arguments: [
    "", "/path", "http:", "http://", "http:///x", "http://[::1", "http://user@/", "a.test:80",
  ])
  func `without a host there is none`(url: String) {
    #expect(URLAuthority(url) == nil)
  }

  @Test(arguments: [
    ("http://a.test", true), ("https:x", true), ("http:", true), ("https", false), ("http", false),
    ("ws://a.test", false),
    ("HTTP://a.test", false), ("httpss://a.test", false), ("", false),
  ])
  func `only http and https are HTTP`(url: String, isHTTP: Bool) {
    #expect(URLAuthority.isHTTP(url) == isHTTP)
  }

  @Test func `whatever is read, Foundation reads the same`() throws {
    let parts = [
      "http://", "https://", "http:", "a", "A", "b.test", "xn--", "-", "--", ".", "..", "127.0.0.1", ":",
      ":80", ":65535",
      ":99999", ":007", "@", "[::1]", "%41", "/", "?", "#", "_", "~", "é", "0", "9", "\\", "!", " ", "",
    ]
    var random = SeededGenerator(seed: 1)
    var readCount = 0
    for _ in 0..<200_000 {
      let text =
        ["http://", "https://"].randomElement(using: &random).map { scheme in
          (0..<Int.random(in: 1...5, using: &random)).reduce(into: scheme) { text, _ in
            text += parts.randomElement(using: &random) ?? ""
          }
        } ?? ""
      guard let url = URL(string: text) else { continue }
      let absolute = url.absoluteString
      #expect(URLAuthority.isHTTP(absolute) == ["http", "https"].contains(url.scheme), "\(text)")
      if let port = URLAuthority.port(ofPlain: absolute) {
        #expect(port == url.port ?? (url.scheme == "https" ? 443 : 80), "\(text)")
      }
      guard let authority = URLAuthority(plain: absolute) else { continue }
      readCount += 1
      try #require(authority.host == url.host, "\(text)")
      try #require(authority.port == url.port ?? (url.scheme == "https" ? 443 : 80), "\(text)")
    }
    #expect(readCount > 10_000)
  }
}
