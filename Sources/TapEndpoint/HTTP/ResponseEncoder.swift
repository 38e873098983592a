/// Writes the heads of responses (RFC 9112, section 4).
enum ResponseEncoder {
  static func head(
    _ response: EndpointResponse, minorVersion: Int, keepsAlive: Bool, date: [UInt8]
  ) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(256)
    head.append(contentsOf: "HTTP/1.1 ".utf8)
    head.append(contentsOf: String(response.status.rawValue).utf8)
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
    // RFC 9110, section 8.6: no field may announce a body where there can be none.
    if response.status.allowsBody {
      head.append(contentsOf: "\r\nContent-Length: ".utf8)
      head.append(contentsOf: String(response.body.count).utf8)
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

  /// Whether a handler's field is written: its name is a token, and none of those that frame the message.
  private static func isAllowed(_ name: String) -> Bool {
    guard !name.isEmpty, name.utf8.allSatisfy(ByteClass.isToken) else { return false }
    return !["Date", "Connection", "Content-Length", "Transfer-Encoding"].contains {
      $0.isEqualIgnoringASCIICase(to: name)
    }
  }
}
