/// An incremental parser of HTTP/1.1 requests (RFC 9112): bytes in, requests and failures out.
///
/// It decides byte by byte, so that what comes out does not depend on how the bytes were split, and a
/// failure shows at the first byte that cannot be part of a request. It holds no more than one head and one
/// body, both bounded, and no socket or clock.
package struct RequestParser: Sendable {
  /// The result of the bytes so far.
  package enum Event: Sendable, Hashable {
    /// A request is complete.
    case request(EndpointRequest)
    /// The head is complete, and the client waits for a 100 before it sends the body (RFC 9110, 10.1.1).
    case continueExpected
    /// The bytes are not a request. No event can follow.
    case failure(RequestFailure)
  }

  private enum State {
    case head
    case body(remaining: Int)
    case chunked(ChunkedDecoder)
    case failed
  }

  private let limits: ParserLimits
  private var state = State.head
  private var headParser: HeadParser
  private var request: EndpointRequest?

  package init(limits: ParserLimits) {
    self.limits = limits
    headParser = HeadParser(limits: limits)
  }

  /// Whether no byte of a request has been seen since the last one was complete.
  package var isIdle: Bool {
    if case .head = state { headParser.isIdle } else { false }
  }

  /// Whether the head is complete and the body is not.
  package var isInBody: Bool {
    switch state {
    case .body, .chunked: true
    case .head, .failed: false
    }
  }

  /// Takes bytes from the front of the input up to the next event. `nil` means that all were taken and more
  /// are needed.
  package mutating func next(from input: inout ArraySlice<UInt8>) -> Event? {
    do throws(RequestFailure) {
      while !input.isEmpty {
        if let event = try advance(&input) { return event }
      }
      return nil
    } catch {
      state = .failed
      headParser = HeadParser(limits: limits)
      request = nil
      return .failure(error)
    }
  }

  private mutating func advance(_ input: inout ArraySlice<UInt8>) throws(RequestFailure) -> Event? {
    switch state {
    case .failed:
      input = []
    case .head:
      if let head = try headParser.next(from: &input) { return try begin(head) }
    case .body(let remaining):
      let part = input.prefix(remaining)
      request?.body.append(contentsOf: part)
      input = input.dropFirst(part.count)
      if part.count == remaining { return complete() }
      state = .body(remaining: remaining - part.count)
    case .chunked(var decoder):
      // Both are taken out while the decoder works, so that nothing is copied.
      state = .failed
      var body = request?.body ?? []
      request?.body = []
      let isComplete = try decoder.decode(&input, into: &body)
      request?.body = body
      if isComplete { return complete() }
      state = .chunked(decoder)
    }
    return nil
  }

  /// The head is complete.
  private mutating func begin(_ head: RequestHead) throws(RequestFailure) -> Event? {
    let (request, framing) = try head.request()
    self.request = request
    switch framing {
    case .length(0):
      return complete()
    case .length(let length):
      guard length <= limits.bodyBytes else { throw ChunkedDecoder.tooLarge(limits) }
      state = .body(remaining: length)
    case .chunked:
      state = .chunked(ChunkedDecoder(limits: limits))
    }
    return head.expectsContinue ? .continueExpected : nil
  }

  private mutating func complete() -> Event? {
    let event = request.map(Event.request)
    self = RequestParser(limits: limits)
    return event
  }
}

/// The sizes that the parser enforces.
package struct ParserLimits: Sendable, Hashable {
  /// Bytes of a head: request line, fields, and the line ends. A trailer section has the same limit.
  package var headBytes: Int
  /// Field lines of a head, and of a trailer section.
  package var headerCount: Int
  /// Bytes of a body after its transfer coding is removed.
  package var bodyBytes: Int

  package init(headBytes: Int = 8192, headerCount: Int = 100, bodyBytes: Int = 65536) {
    self.headBytes = headBytes
    self.headerCount = headerCount
    self.bodyBytes = bodyBytes
  }
}

/// Why bytes are not a request that this server accepts, and the status of the response. The connection is closed
/// after it, because the start of the next request is unknown.
package struct RequestFailure: Error, Sendable, Hashable {
  /// The status of the answer.
  package let status: EndpointStatus
  /// One clause for the answer's body.
  package let reason: String

  /// A violation of the grammar or the framing: 400 (RFC 9112, section 2.2).
  static func malformed(_ reason: String) -> RequestFailure {
    RequestFailure(status: .badRequest, reason: reason)
  }
}
