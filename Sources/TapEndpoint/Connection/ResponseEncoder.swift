/// Writes the heads of responses (RFC 9112, section 4).
enum ResponseEncoder {
  /// How the end of a body is told.
  enum Framing: Equatable {
    /// By a Content-Length.
    case length(Int)
    /// By the chunked coding.
    case chunked
    /// By the end of the connection: for HTTP/1.0, which knows no chunks (RFC 9112, section 6.3, item 8).
    case close
    /// There can be no body, and no field may tell of one (RFC 9110, section 8.6).
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
      // RFC 9112, section 9.3: a 1.0 client has asked to persist, and must be told that it was heard.
      head.append(contentsOf: "\r\nConnection: keep-alive".utf8)
    }
    head.append(contentsOf: "\r\n\r\n".utf8)
    return head
  }

  /// Whether a handler's field is written: its name is a token, and its matter is not the framing.
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
