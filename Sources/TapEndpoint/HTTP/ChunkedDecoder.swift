/// Removes the chunked transfer coding (RFC 9112, section 7.1): bytes in, the bytes of the body out. Trailer
/// fields are checked and dropped (section 7.1.2).
struct ChunkedDecoder {
  private enum State {
    case size(digits: Int)
    case chunkExtension
    case sizeLineFeed
    case data
    case dataCarriageReturn
    case dataLineFeed
    case trailerStart
    case trailerName
    case trailerValue
    case trailerLineFeed
    case endLineFeed
  }

  private let limits: ParserLimits
  private var state = State.size(digits: 0)
  private var remaining = 0
  /// The bytes that are neither data nor framing that every chunk needs: extensions and trailers. They share
  /// the limit of a head, so that a body of a few bytes cannot cost more (section 7.1.1).
  private var overheadBytes = 0
  private var trailerCount = 0

  init(limits: ParserLimits) {
    self.limits = limits
  }

  /// Takes bytes from the front of the input and appends the data to the body.
  /// - Returns: whether the body is complete.
  mutating func decode(_ input: inout ArraySlice<UInt8>, into body: inout [UInt8]) throws(RequestFailure)
    -> Bool
  {
    while let byte = input.first {
      if case .data = state {
        let data = input.prefix(remaining)
        body.append(contentsOf: data)
        input = input.dropFirst(data.count)
        remaining -= data.count
        if remaining == 0 { state = .dataCarriageReturn }
        continue
      }
      input = input.dropFirst()
      if case .endLineFeed = state {
        guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
        return true
      }
      try take(byte, bodyCount: body.count)
    }
    return false
  }

  /// One byte of anything but data.
  private mutating func take(_ byte: UInt8, bodyCount: Int) throws(RequestFailure) {
    switch state {
    case .size(let digits):
      if let digit = ByteClass.hexadecimalValue(byte) {
        // Any number of leading zeros would be valid; sixteen digits suffice for every size.
        guard digits < 16 else { throw .malformed("chunk size of more than 16 digits") }
        let (size, overflow) = remaining.multipliedReportingOverflow(by: 16)
        remaining = overflow ? .max : size | Int(digit)
        guard remaining <= limits.bodyBytes - bodyCount else { throw Self.tooLarge(limits) }
        state = .size(digits: digits + 1)
      } else {
        guard digits > 0 else { throw .malformed("chunk without a size") }
        try endSize(byte)
      }
    case .chunkExtension:
      if byte == ByteClass.carriageReturn {
        state = .sizeLineFeed
      } else {
        guard ByteClass.isFieldValue(byte) else { throw .malformed("invalid byte in a chunk extension") }
        try countOverhead()
      }
    case .sizeLineFeed:
      guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
      state = remaining == 0 ? .trailerStart : .data
    case .dataCarriageReturn:
      guard byte == ByteClass.carriageReturn else { throw .malformed("chunk longer than its size") }
      state = .dataLineFeed
    case .dataLineFeed:
      guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
      state = .size(digits: 0)
    case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed:
      try takeTrailer(byte)
    case .data, .endLineFeed:
      break
    }
  }

  private mutating func endSize(_ byte: UInt8) throws(RequestFailure) {
    switch byte {
    case ByteClass.carriageReturn: state = .sizeLineFeed
    case UInt8(ascii: ";"): state = .chunkExtension
    default: throw .malformed("invalid chunk size")
    }
  }

  /// Section 7.1.2: a trailer section is made of field lines.
  private mutating func takeTrailer(_ byte: UInt8) throws(RequestFailure) {
    try countOverhead()
    switch (state, byte) {
    case (.trailerStart, ByteClass.carriageReturn):
      state = .endLineFeed
    case (.trailerStart, _) where ByteClass.isToken(byte):
      trailerCount += 1
      guard trailerCount <= limits.headerCount else {
        throw RequestFailure(status: .requestHeaderFieldsTooLarge, reason: "too many trailer fields")
      }
      state = .trailerName
    case (.trailerName, UInt8(ascii: ":")):
      state = .trailerValue
    case (.trailerName, _) where ByteClass.isToken(byte):
      break
    case (.trailerValue, ByteClass.carriageReturn):
      state = .trailerLineFeed
    case (.trailerValue, _) where ByteClass.isFieldValue(byte):
      break
    case (.trailerLineFeed, ByteClass.lineFeed):
      state = .trailerStart
    default:
      throw .malformed("malformed trailer field")
    }
  }

  private mutating func countOverhead() throws(RequestFailure) {
    overheadBytes += 1
    guard overheadBytes <= limits.headBytes else {
      throw RequestFailure(
        status: .requestHeaderFieldsTooLarge,
        reason: "chunk extensions and trailers of more than \(limits.headBytes) bytes")
    }
  }

  static func tooLarge(_ limits: ParserLimits) -> RequestFailure {
    RequestFailure(status: .contentTooLarge, reason: "a body of more than \(limits.bodyBytes) bytes")
  }

  private static let malformedLineEnd = RequestFailure.malformed("a line does not end in CRLF")
}
