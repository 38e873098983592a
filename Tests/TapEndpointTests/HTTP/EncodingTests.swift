import TapEndpoint
import Testing

@Suite struct EncodingTests {
  @Test func `writes dates`() {
    let dates: [(seconds: Int64, text: String)] = [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_795_253_400, "Sat, 21 Nov 2026 09:30:00 GMT"),
      (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ]
    let texts = dates.map { String(decoding: EventTime.date(secondsSinceEpoch: $0.seconds), as: UTF8.self) }
    #expect(texts == dates.map(\.text))
  }

  @Test func `decodes queries`() {
    let items = EndpointRequest(path: "/", query: "name%5B%5D=a%2Bb&name[]=c+d&x&=y&&z=1=2&bad=%4&%ff=%e4")
      .queryItems.map { "\($0.name)|\($0.value)" }
    #expect(items == ["name[]|a+b", "name[]|c d", "x|", "|y", "z|1=2", "bad|%4", "\u{FFFD}|\u{FFFD}"])
  }

  @Test func `a refusal says its status, the status's phrase and why`() {
    let phrases = [
      400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
      408: "Request Timeout", 413: "Content Too Large", 414: "URI Too Long", 421: "Misdirected Request",
      431: "Request Header Fields Too Large", 501: "Not Implemented", 503: "Service Unavailable",
      505: "HTTP Version Not Supported",
    ]
    let refusals = phrases.keys.map { EndpointResponse.refusal($0, "why") }
    let told = refusals.map { "\($0.status) \(String(decoding: $0.body, as: UTF8.self))" }
    #expect(Set(told) == Set(phrases.map { "\($0) \($0) \($1): why\n" }))
  }

  @Test func `finds headers in any case`() {
    var headers: EndpointHeaders = ["Content-Type": "a", "X": "1"]
    headers.add("x", "2")
    let found = [headers["CONTENT-TYPE"], headers.combined("X"), headers.combined("Y")]
    #expect(found == ["a", "1, 2", nil])
    headers["X"] = "3"
    #expect(headers.values(of: "x") == ["3"])
    headers["x"] = nil
    #expect(headers.fields.map(\.name) == ["Content-Type"])
  }
}
