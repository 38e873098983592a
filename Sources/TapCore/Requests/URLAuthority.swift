/// The host and the port of a URL, read from its text (RFC 3986, section 3.2).
///
/// That takes a quarter of the instructions of Foundation's `URL.host`, `URL.port` and `URL.scheme`. A host that is percent-encoded
/// or internationalised stays as it is written.
package struct URLAuthority {
  /// Without brackets.
  package let host: String
  /// The port that is written, or the default of http and https; `nil` if there is none.
  package let port: Int?

  /// Reads the URL. `nil` if it names no host.
  package init?(_ url: String) {
    var url = url
    let authority = url.withUTF8 { bytes -> (String, Int?)? in
      guard let range = Self.range(in: bytes) else { return nil }
      let scheme = UnsafeBufferPointer(rebasing: bytes[..<(range.lowerBound - 3)])
      // The last colon and bracket, and what stands behind the userinfo.
      var (start, end, literalEnd) = (range.lowerBound, range.upperBound, nil as Int?)
      var colon: Int?
      for index in range {
        switch bytes[index] {
        case UInt8(ascii: "@"): (start, colon, literalEnd) = (index + 1, nil, nil)
        case UInt8(ascii: ":"): colon = index
        case UInt8(ascii: "]"): (colon, literalEnd) = (nil, index)
        default: break
        }
      }
      let port = colon.flatMap { Self.port(in: bytes[($0 + 1)..<end]) } ?? Self.defaultPort(of: scheme)
      if start < end, bytes[start] == UInt8(ascii: "[") {
        guard let literalEnd else { return nil }
        (start, end) = (start + 1, literalEnd)
      } else {
        end = colon ?? end
      }
      return start < end ? (String(decoding: bytes[start..<end], as: UTF8.self), port) : nil
    }
    guard let authority else { return nil }
    (host, port) = authority
  }

  /// What stands between `://` and the path, the query, the fragment or the end.
  static func range(in url: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    let slash = UInt8(ascii: "/")
    func isDelimiter(_ byte: UInt8) -> Bool {
      byte == slash || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
    // A colon further on is none of the scheme's.
    guard let colon = url.firstIndex(where: { $0 == UInt8(ascii: ":") || isDelimiter($0) }),
      colon + 2 < url.count,
      url[colon] == UInt8(ascii: ":"), url[colon + 1] == slash, url[colon + 2] == slash
    else { return nil }
    let start = colon + 3
    return start..<(url[start...].firstIndex(where: isDelimiter) ?? url.count)
  }

  private static func port(in digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
    guard (1...8).contains(digits.count) else { return nil }
    var number = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return number <= 65_535 ? number : nil
  }

  private static func defaultPort(of scheme: UnsafeBufferPointer<UInt8>) -> Int? {
    func matches(_ name: StaticString) -> Bool {
      scheme.count == name.utf8CodeUnitCount
        && scheme.indices.allSatisfy { scheme[$0] | 0x20 == name.utf8Start[$0] }
    }
    return matches("http") ? 80 : matches("https") ? 443 : nil
  }
}
