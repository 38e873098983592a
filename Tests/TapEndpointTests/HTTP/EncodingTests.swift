import TapEndpoint
import Testing

@Suite struct EncodingTests {
  @Test(arguments: [
    (Int64(0), "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
    (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (1_795_253_400, "Sat, 21 Nov 2026 09:30:00 GMT"),
    (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func `writes dates`(seconds: Int64, text: String) {
    #expect(String(decoding: EventTime.date(secondsSinceEpoch: seconds), as: UTF8.self) == text)
  }

  @Test(arguments: [1, 7, 100, 20_000])
  func `forgets what was sent`(step: Int) {
    for size in [0, 2, 16_384, 50_000] {
      let (head, body) = ([UInt8](arrayLiteral: 1, 2, 3), [UInt8](repeating: 4, count: size))
      var unsent = UnsentBytes(head: head, body: body)
      var sent: [UInt8] = []
      while !unsent.isEmpty, sent.count < 60_000 {
        let bytes = unsent.withNext { Array($0.prefix(step)) }
        sent += bytes
        unsent.removeFirst(bytes.count)
      }
      #expect(sent == head + body)
    }
  }

  @Test func `decodes queries`() {
    let items = EndpointRequest(path: "/", query: "name%5B%5D=a%2Bb&name[]=c+d&x&=y&&z=1=2&bad=%4&%ff=%e4")
      .queryItems
    #expect(items.map(\.name) == ["name[]", "name[]", "x", "", "z", "bad", "\u{FFFD}"])
    #expect(items.map(\.value) == ["a+b", "c d", "", "y", "1=2", "%4", "\u{FFFD}"])
  }

  @Test func `a refusal says its status, the status's phrase and why`() {
    let statuses = [400, 401, 404, 405, 408, 413, 414, 421, 431, 501, 503, 505]
    let refusals = statuses.map { EndpointResponse.refusal($0, "why") }
    #expect(refusals.map(\.status) == statuses)
    #expect(
      refusals.map { String(decoding: $0.body, as: UTF8.self) } == [
        "400 Bad Request: why\n", "401 Unauthorized: why\n", "404 Not Found: why\n",
        "405 Method Not Allowed: why\n", "408 Request Timeout: why\n", "413 Content Too Large: why\n",
        "414 URI Too Long: why\n", "421 Misdirected Request: why\n",
        "431 Request Header Fields Too Large: why\n", "501 Not Implemented: why\n",
        "503 Service Unavailable: why\n", "505 HTTP Version Not Supported: why\n",
      ])
  }

  @Test func `finds headers in any case`() {
    var headers: EndpointHeaders = ["Content-Type": "a", "X": "1"]
    headers.add("x", "2")
    #expect(headers["CONTENT-TYPE"] == "a")
    #expect(headers.values(of: "X") == ["1", "2"])
    #expect(headers.combined("X") == "1, 2")
    #expect(headers.combined("Y") == nil)
    headers["X"] = "3"
    #expect(headers.values(of: "x") == ["3"])
    headers["x"] = nil
    #expect(headers.fields.map(\.name) == ["Content-Type"])
  }
}
