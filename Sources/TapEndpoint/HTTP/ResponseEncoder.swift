import TapCore

/// Writes the heads of responses (RFC 9112, section 4).
enum ResponseEncoder {
  /// How a body ends.
  enum Framing: Equatable {
    /// By a Content-Length.
    case length(Int)
    /// By the chunked coding.
    case chunked
    /// By the end of the connection: for HTTP/1.0, which knows no chunks (RFC 9112, section 6.3, item 8).
    case close
    /// There is no body, and no field may announce one (RFC 9110, section 8.6).
    case none
  }

  /// The framing for a response to a request of that version.
  static func framing(_ response: EndpointResponse, minorVersion: Int) -> Framing {
    guard response.status.allowsBody else { return .none }
    return switch response.body {
    case .bytes(let bytes): .length(bytes.count)
    case .stream(let length?, _): .length(max(length, 0))
    case .stream(nil, _): minorVersion > 0 ? .chunked : .close
    }
  }

  /// The interim response that asks for the body (RFC 9110, section 15.2.1).
  static let `continue` = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// The last chunk, and an empty trailer section.
  static let lastChunk = Array("0\r\n\r\n".utf8)

  /// A chunk. It must not be empty, which would end the body.
  static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    var chunk = Array(String(bytes.count, radix: 16).utf8)
    chunk.reserveCapacity(chunk.count + bytes.count + 4)
    chunk.append(contentsOf: "\r\n".utf8)
    chunk.append(contentsOf: bytes)
    chunk.append(contentsOf: "\r\n".utf8)
    return chunk
  }

  /// The head of a response.
  static func head(
    _ response: EndpointResponse, framing: Framing, minorVersion: Int, keepsAlive: Bool, date: [UInt8]
  ) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(256)
    head.append(contentsOf: "HTTP/1.1 ".utf8)
    append(response.status.rawValue, to: &head)
    head.append(ByteClass.space)
    head.append(contentsOf: response.status.reasonPhrase.utf8)
    head.append(contentsOf: "\r\nDate: ".utf8)
    head.append(contentsOf: date)
    for field in response.headers.fields where isAllowed(field.name) {
      head.append(contentsOf: "\r\n".utf8)
      head.append(contentsOf: field.name.utf8)
      head.append(contentsOf: ": ".utf8)
      for byte in field.value.utf8 { head.append(ByteClass.isFieldValue(byte) ? byte : ByteClass.space) }
    }
    switch framing {
    case .length(let length):
      head.append(contentsOf: "\r\nContent-Length: ".utf8)
      append(length, to: &head)
    case .chunked:
      head.append(contentsOf: "\r\nTransfer-Encoding: chunked".utf8)
    case .close, .none:
      break
    }
    if !keepsAlive {
      head.append(contentsOf: "\r\nConnection: close".utf8)
    } else if minorVersion == 0 {
      // RFC 9112, section 9.3: the response to a 1.0 client that has asked to persist must confirm it.
      head.append(contentsOf: "\r\nConnection: keep-alive".utf8)
    }
    head.append(contentsOf: "\r\n\r\n".utf8)
    return head
  }

  /// Whether a handler's field is written: its name is a token, and none of those that the endpoint writes.
  private static func isAllowed(_ name: String) -> Bool {
    guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isToken) else { return false }
    switch name.utf8.count {
    case 4: return !name.isEqualIgnoringASCIICase(to: "Date")
    case 10: return !name.isEqualIgnoringASCIICase(to: "Connection")
    case 14: return !name.isEqualIgnoringASCIICase(to: "Content-Length")
    case 17: return !name.isEqualIgnoringASCIICase(to: "Transfer-Encoding")
    default: return true
    }
  }

  private static func append(_ number: Int, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: String(number).utf8)
  }
}

/// The date of a message (RFC 9110, section 5.6.7): `Sat, 21 Nov 2026 09:30:00 GMT`.
package enum HTTPDate {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The `IMF-fixdate` of a POSIX time in seconds. Times before 1970 and after 9999 are moved to these bounds.
  package static func bytes(secondsSinceEpoch: Int64) -> [UInt8] {
    let seconds = min(max(secondsSinceEpoch, 0), 253_402_300_799)
    let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let date = CivilDate(daysSinceEpoch: days)

    var bytes: [UInt8] = []
    bytes.reserveCapacity(29)
    bytes.append(contentsOf: weekdays[Int((days + 4) % 7)].utf8)
    bytes.append(contentsOf: ", ".utf8)
    append(date.day, digits: 2, to: &bytes)
    bytes.append(contentsOf: " \(months[Int(date.month - 1)]) ".utf8)
    append(date.year, digits: 4, to: &bytes)
    for (separator, value) in [(" ", time / 3600), (":", time / 60 % 60), (":", time % 60)] {
      bytes.append(contentsOf: separator.utf8)
      append(value, digits: 2, to: &bytes)
    }
    bytes.append(contentsOf: " GMT".utf8)
    return bytes
  }

  private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
    var divisor: Int64 = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }
}

/// The clocks' readings when an event reaches a connection, whose state machine reads no clock.
package struct EventTime: Sendable {
  /// For deadlines.
  package var instant: ContinuousClock.Instant
  /// The encoded `Date` of a response that is made now (RFC 9110, section 6.6.1).
  package var date: [UInt8]

  package init(instant: ContinuousClock.Instant, date: [UInt8]) {
    self.instant = instant
    self.date = date
  }
}
