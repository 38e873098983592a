/// The little that a client must know of an answer: the status, and the first line of the body.
package struct ClientAnswer: Sendable, Hashable {
  /// The status; `nil` if the bytes are no HTTP.
  package let status: Int?
  /// Why, in the server's words, cut and without control characters.
  package let reason: String

  /// Reads the beginning of an answer (RFC 9112, section 4).
  package init(_ bytes: [UInt8]) {
    let line = bytes.prefix { $0 != ByteClass.carriageReturn && $0 != ByteClass.lineFeed }
    let digits = line.dropFirst(9).prefix(3)
    guard line.starts(with: "HTTP/1.".utf8), line.count >= 12,
      digits.allSatisfy({ ByteClass.decimalValue($0) != nil })
    else {
      status = nil
      reason = ""
      return
    }
    status = Int(String(decoding: digits, as: UTF8.self))
    var body = bytes[...]
    let end = Array("\r\n\r\n".utf8)
    while body.count >= end.count, !body.starts(with: end) { body = body.dropFirst() }
    let text = body.dropFirst(end.count).drop { $0 <= ByteClass.space }.prefix(200)
      .prefix { $0 != ByteClass.carriageReturn && $0 != ByteClass.lineFeed }
    let words = text.isEmpty ? line.dropFirst(13) : text
    reason = String(decoding: words.map { $0 < 0x20 || $0 == 0x7F ? ByteClass.space : $0 }, as: UTF8.self)
  }
}
