/// An incremental parser of a request's head (RFC 9112, sections 2 to 5): bytes in, the parts of the head out.
struct HeadParser: Sendable {
  private enum State {
    case start, startLineFeed
    case method, target, version, requestLineFeed
    case fieldStart, fieldName, fieldValue, fieldLineFeed, headLineFeed
  }

  private let limits: ParserLimits
  private var state = State.start
  private var headBytes = 0
  private var token: [UInt8] = []
  private var fieldName = ""
  private var head = RequestHead()

  init(limits: ParserLimits) {
    self.limits = limits
  }

  /// Makes a parser of what follows the first line of a head: its fields, up to the empty line.
  init(fieldsWithin limits: ParserLimits) {
    self.limits = limits
    state = .fieldStart
  }

  /// Whether no byte of a head has arrived.
  var isIdle: Bool { headBytes == 0 }

  /// Takes bytes from the front of the input up to the end of the head. `nil` means that all were taken and more
  /// are needed.
  mutating func next(from input: inout ArraySlice<UInt8>) throws(RequestFailure) -> RequestHead? {
    while let byte = input.popFirst() {
      try countByte()
      if case .headLineFeed = state {
        guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
        return head
      }
      try take(byte)
      try takeRun(&input)
    }
    return nil
  }

  /// RFC 9110, section 5.4: fields that are too large must not be processed.
  private mutating func countByte() throws(RequestFailure) {
    headBytes += 1
    guard headBytes <= limits.headBytes else { throw tooLarge }
  }

  private var tooLarge: RequestFailure {
    switch state {
    case .start, .startLineFeed, .method, .target, .version, .requestLineFeed:
      // Section 3: "longer than any URI it wishes to parse MUST respond with 414".
      RequestFailure(status: .uriTooLong, reason: "a request line of more than \(limits.headBytes) bytes")
    default:
      RequestFailure(
        status: .requestHeaderFieldsTooLarge, reason: "a head of more than \(limits.headBytes) bytes")
    }
  }

  /// Takes a run of bytes that only extend a token, instead of one after the other.
  private mutating func takeRun(_ input: inout ArraySlice<UInt8>) throws(RequestFailure) {
    let end: Int
    switch state {
    case .target: end = input.firstIndex { !ByteClass.isVisible($0) } ?? input.endIndex
    case .fieldName: end = input.firstIndex { !ByteClass.isToken($0) } ?? input.endIndex
    case .fieldValue: end = input.firstIndex { !ByteClass.isFieldValue($0) } ?? input.endIndex
    default: return
    }
    headBytes += end - input.startIndex
    guard headBytes <= limits.headBytes else { throw tooLarge }
    token.append(contentsOf: input[..<end])
    input = input[end...]
  }

  /// One byte of the head, but for the last.
  private mutating func take(_ byte: UInt8) throws(RequestFailure) {
    switch state {
    case .start:
      // Section 2.2: "SHOULD ignore at least one empty line (CRLF) received prior to the request-line".
      if byte == ByteClass.carriageReturn {
        state = .startLineFeed
      } else {
        guard ByteClass.isToken(byte) else { throw .malformed("the request does not begin with a method") }
        token.append(byte)
        state = .method
      }
    case .startLineFeed:
      guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
      state = .start
    case .method, .target, .version, .requestLineFeed:
      try takeRequestLine(byte)
    case .fieldStart, .fieldName, .fieldValue, .fieldLineFeed:
      try takeField(byte)
    case .headLineFeed:
      break
    }
  }

  /// Section 3: `method SP request-target SP HTTP-version CRLF`, with single spaces.
  private mutating func takeRequestLine(_ byte: UInt8) throws(RequestFailure) {
    switch state {
    case .method where byte == ByteClass.space:
      head.method = EndpointMethod(rawValue: takeToken())
      state = .target
    case .method:
      guard ByteClass.isToken(byte) else { throw .malformed("invalid byte in the method") }
      // Section 3: "a method longer than any it implements SHOULD respond with 501".
      guard token.count < 32 else {
        throw RequestFailure(status: .notImplemented, reason: "a method of more than 32 bytes")
      }
      token.append(byte)
    case .target where byte == ByteClass.space:
      guard !token.isEmpty else { throw .malformed("empty target") }
      head.target = token
      token.removeAll(keepingCapacity: true)
      state = .version
    case .target:
      guard ByteClass.isVisible(byte) else { throw .malformed("invalid byte in the target") }
      token.append(byte)
    case .version where byte == ByteClass.carriageReturn:
      try head.setVersion(token)
      token.removeAll(keepingCapacity: true)
      state = .requestLineFeed
    case .version:
      guard token.count < 8, ByteClass.isVisible(byte) else { throw .malformed("invalid HTTP version") }
      token.append(byte)
    default:
      guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
      state = .fieldStart
    }
  }

  /// Section 5: `field-name ":" OWS field-value OWS CRLF`.
  private mutating func takeField(_ byte: UInt8) throws(RequestFailure) {
    switch state {
    case .fieldStart where byte == ByteClass.carriageReturn:
      state = .headLineFeed
    case .fieldStart:
      // A space here would be white space before the first field (section 2.2) or a folded line (section
      // 5.2): both may be refused, and are.
      guard ByteClass.isToken(byte) else { throw .malformed("a field does not begin with a name") }
      guard head.headers.fields.count < limits.headerCount else {
        throw RequestFailure(
          status: .requestHeaderFieldsTooLarge, reason: "more than \(limits.headerCount) header fields")
      }
      token.append(byte)
      state = .fieldName
    case .fieldName where byte == UInt8(ascii: ":"):
      fieldName = takeToken()
      state = .fieldValue
    case .fieldName:
      // Section 5.1: white space before the colon must be answered with 400.
      guard ByteClass.isToken(byte) else { throw .malformed("invalid byte in a field name") }
      token.append(byte)
    case .fieldValue where byte == ByteClass.carriageReturn:
      head.headers.add(fieldName, Self.trimmed(token))
      token.removeAll(keepingCapacity: true)
      state = .fieldLineFeed
    case .fieldValue:
      guard ByteClass.isFieldValue(byte) else { throw .malformed("invalid byte in a field value") }
      token.append(byte)
    default:
      guard byte == ByteClass.lineFeed else { throw Self.malformedLineEnd }
      state = .fieldStart
    }
  }

  private mutating func takeToken() -> String {
    defer { token.removeAll(keepingCapacity: true) }
    return String(decoding: token, as: UTF8.self)
  }

  /// The value without the white space around it (section 5.1). Bytes outside of ASCII are read as UTF-8,
  /// with a replacement character for invalid ones.
  private static func trimmed(_ value: [UInt8]) -> String {
    let isBlank = { (byte: UInt8) in byte == ByteClass.space || byte == ByteClass.tab }
    guard let first = value.firstIndex(where: { !isBlank($0) }),
      let last = value.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(decoding: value[first...last], as: UTF8.self)
  }

  private static let malformedLineEnd = RequestFailure.malformed("a line does not end in CRLF")
}
