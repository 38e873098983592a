/// The parts of a response that a push needs: the status, and the first line of the body.
package struct ClientResponse: Sendable, Hashable {
  /// The status; `nil` if the bytes are no HTTP.
  package let status: Int?
  /// The reason as the server states it, shortened and without control characters.
  package let reason: String
}

/// An incremental parser of the response to a request that is neither HEAD nor CONNECT (RFC 9112, sections 4 and 6.3):
/// bytes in, and whether more are needed.
package struct ResponseParser: Sendable {
  private enum State {
    case statusLine
    case fields(HeadParser)
    case body(remaining: Int)
    case chunked(ChunkedDecoder)
    case complete
  }

  private let limits = ParserLimits()
  private var state = State.statusLine
  private var line: [UInt8] = []
  private var body: [UInt8] = []

  package init() {}

  /// Parses the bytes that have arrived.
  /// - Returns: whether the response is complete, or the rest does not matter.
  package mutating func take(_ bytes: ArraySlice<UInt8>) -> Bool {
    var input = bytes
    do throws(RequestFailure) {
      while !input.isEmpty, !isComplete { try advance(&input) }
    } catch {
      // The status is valid; the end of the rest is unknown.
      state = .complete
    }
    return isComplete
  }

  /// The response, as far as it has arrived.
  package var answer: ClientResponse {
    guard let status else { return ClientResponse(status: nil, reason: "") }
    let text = body.drop { $0 <= ByteClass.space }.prefix(200)
      .prefix { $0 != ByteClass.carriageReturn && $0 != ByteClass.lineFeed }
    let words = text.isEmpty ? line.dropFirst(13) : text
    return ClientResponse(
      status: status,
      reason: String(
        decoding: words.map { $0 < 0x20 || $0 == 0x7F ? ByteClass.space : $0 }, as: UTF8.self))
  }

  private var isComplete: Bool {
    if case .complete = state { true } else { false }
  }

  /// `HTTP/1.1 SP 3DIGIT` and perhaps more (RFC 9112, section 4).
  private var status: Int? {
    let digits = line.dropFirst(9).prefix(3)
    guard line.starts(with: "HTTP/1.".utf8), digits.count == 3,
      digits.allSatisfy({ ByteClass.decimalValue($0) != nil })
    else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  private mutating func advance(_ input: inout ArraySlice<UInt8>) throws(RequestFailure) {
    switch state {
    case .statusLine:
      let part = input.prefix { $0 != ByteClass.lineFeed }
      input = input.dropFirst(part.count)
      line.append(contentsOf: part)
      guard line.count <= limits.headBytes else { throw .malformed("long status line") }
      guard input.popFirst() != nil else { return }
      if line.last == ByteClass.carriageReturn { line.removeLast() }
      state = status == nil ? .complete : .fields(HeadParser(fieldsWithin: limits))
    case .fields(var parser):
      let head = try parser.next(from: &input)
      state = try head.map { head throws(RequestFailure) in try afterHead(head.headers) } ?? .fields(parser)
    case .body(let remaining):
      let part = input.prefix(remaining)
      input = input.dropFirst(part.count)
      body.append(contentsOf: part)
      state = part.count == remaining ? .complete : .body(remaining: remaining - part.count)
    case .chunked(var decoder):
      state = try decoder.decode(&input, into: &body) ? .complete : .chunked(decoder)
    case .complete:
      input = []
    }
  }

  /// What follows the head (RFC 9112, section 6.3).
  private mutating func afterHead(_ fields: EndpointHeaders) throws(RequestFailure) -> State {
    switch status {
    case 204, 304, 101: return .complete
    case .some(100..<200):
      // RFC 9110, section 15.2: any number of interim responses precede the final one.
      line = []
      return .statusLine
    default: break
    }
    var fields = fields
    // Item 3: "the Transfer-Encoding overrides the Content-Length".
    if fields["Transfer-Encoding"] != nil { fields["Content-Length"] = nil }
    // Item 8: without either, the body ends with the connection. No more of it matters than the limit.
    guard fields["Transfer-Encoding"] ?? fields["Content-Length"] != nil else {
      return .body(remaining: limits.bodyBytes)
    }
    switch try BodyFraming(fields, minorVersion: 1) {
    case .length(0): return .complete
    case .length(let length): return .body(remaining: min(length, limits.bodyBytes))
    case .chunked: return .chunked(ChunkedDecoder(limits: limits))
    }
  }
}
