import TapCore

/// An incremental parser of HTTP/1.1 requests (RFC 9112): bytes in, requests and failures out.
///
/// It takes a head line by line, so that the result does not depend on how the bytes were split. It keeps at
/// most one head, which is bounded, and uses no socket or clock.
package struct RequestParser: Sendable {
  /// Why bytes are not a request that this server accepts, and the status of the response. The connection is
  /// closed after it, because the start of the next request is unknown.
  package struct Failure: Error, Sendable, Hashable {
    package let status: Int
    /// One clause for the answer's body.
    package let reason: String

    init(_ status: Int, _ reason: String) { (self.status, self.reason) = (status, reason) }

    /// A violation of the grammar or the framing: 400 (RFC 9112, section 2.2).
    static func malformed(_ reason: String) -> Failure { Failure(400, reason) }
  }

  private let limits: Endpoint.Configuration.Limits
  private var headBytes = 0
  /// The start of a line whose end has not arrived.
  private var line: [UInt8] = []
  /// The request so far, and whether its first line has come. Not an optional, because comparing it with
  /// `nil` copies it.
  private var request = EndpointRequest(path: "")
  private var hasLine = false
  private var hasFailed = false

  package init(limits: Endpoint.Configuration.Limits) { self.limits = limits }

  /// Whether no byte of a request has been seen since the last one was complete.
  package var isIdle: Bool { headBytes == 0 }

  /// Takes bytes from the front of the input up to the end of a request, or to a failure, which is final.
  /// `nil` means that all were taken and more are needed.
  package mutating func next(from input: inout ArraySlice<UInt8>) -> Result<EndpointRequest, Failure>? {
    do throws(Failure) {
      guard !hasFailed, let request = try parse(&input) else {
        input = []
        return nil
      }
      self = RequestParser(limits: limits)
      return .success(request)
    } catch {
      self = RequestParser(limits: limits)
      hasFailed = true
      input = []
      return .failure(error)
    }
  }

  private mutating func parse(_ input: inout ArraySlice<UInt8>) throws(Failure) -> EndpointRequest? {
    while let line = try nextLine(&input) {
      if !hasLine {
        // Section 2.2: "SHOULD ignore at least one empty line (CRLF) received prior to the request-line".
        if line.isEmpty { continue }
        request = try EndpointRequest(line: line)
        hasLine = true
      } else if line.isEmpty {
        try request.endHead()
        return request
      } else {
        try request.add(line, limits)
      }
    }
    return nil
  }

  /// The next line of the head without its end; `nil` if more bytes are needed.
  private mutating func nextLine(_ input: inout ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8>? {
    // Bytes that are not HTTP, such as the first ones of TLS, may have no line.
    if line.isEmpty, !hasLine, let first = input.first, first != .carriageReturn,
      !ByteClass.isToken(first)
    {
      throw .malformed("the request does not begin with a method")
    }
    let end = input.firstIndex(of: UInt8.lineFeed)
    let part = input[..<(end ?? input.endIndex)]
    input = input[part.endIndex...].dropFirst()
    headBytes += part.count + (end == nil ? 0 : 1)
    // RFC 9110, section 5.4: fields that are too large must not be processed.
    guard headBytes <= limits.headBytes else {
      // Section 3: "longer than any URI it wishes to parse MUST respond with 414".
      throw hasLine
        ? Failure(431, "a head of more than \(limits.headBytes) bytes")
        : Failure(414, "a request line of more than \(limits.headBytes) bytes")
    }
    var whole = part
    // The usual line, which comes in one part, is not copied.
    if end == nil || !line.isEmpty {
      line.append(contentsOf: part)
      whole = line[...]
    }
    guard end != nil else { return nil }
    line = []
    // Section 2.2: "a recipient MAY recognize a single LF as a line terminator". This one does not: what
    // others take for two lines must not be one here, nor the reverse.
    guard whole.last == .carriageReturn else { throw .malformed("a line does not end in CRLF") }
    return whole.dropLast()
  }
}
