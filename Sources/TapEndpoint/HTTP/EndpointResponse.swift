/// The response of a handler.
///
/// The endpoint frames the message. It writes `Date`, `Content-Length` and `Connection` itself, and omits a
/// handler's fields with these names, `Transfer-Encoding`, and fields whose name is not a token. CR, LF and
/// NUL in a value become spaces, so that no value can begin another field (RFC 9110, section 5.5).
public struct EndpointResponse: Sendable {
  /// The status, a final one: 200 to 999.
  public var status: EndpointStatus
  /// The handler's header fields.
  public var headers: EndpointHeaders
  /// The body. It is not sent in response to HEAD, or with a status that has no body.
  public var body: [UInt8]
  /// Whether the connection is closed after this response.
  public var closesConnection: Bool
  /// Whether the connection is reset instead of any answer.
  package private(set) var resetsConnection = false

  /// Makes a response.
  ///
  /// - Parameters:
  ///   - status: a final status, 200 to 999.
  ///   - headers: fields in addition to the endpoint's own.
  ///   - body: the body.
  ///   - closesConnection: whether the connection is closed after this response.
  public init(
    status: EndpointStatus = .ok, headers: EndpointHeaders = [:], body: [UInt8] = [],
    closesConnection: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.closesConnection = closesConnection
  }

  /// Makes a response of plain text, `text/plain; charset=utf-8`.
  public static func text(_ text: String, status: EndpointStatus = .ok) -> EndpointResponse {
    EndpointResponse(
      status: status,
      headers: ["Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"],
      body: Array(text.utf8))
  }

  /// No response: the connection is reset. For tests and demos that simulate a failure.
  public static var reset: EndpointResponse {
    var response = EndpointResponse(status: .internalServerError)
    response.resetsConnection = true
    return response
  }

  /// The response to a request that is not served: status, reason phrase and one clause.
  package static func refusal(_ status: EndpointStatus, _ reason: String) -> EndpointResponse {
    .text("\(status.rawValue) \(status.reasonPhrase): \(reason)\n", status: status)
  }
}

/// A status code (RFC 9110, section 15).
public struct EndpointStatus: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The three digits.
  public let rawValue: Int

  /// Makes a status from its code. A response whose code is not final (200 to 999) is sent as 500.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Makes a status from a literal code.
  public init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }

  /// 200
  public static let ok: EndpointStatus = 200
  /// 204, which has no body.
  public static let noContent: EndpointStatus = 204
  /// 400
  public static let badRequest: EndpointStatus = 400
  /// 401
  public static let unauthorized: EndpointStatus = 401
  /// 403
  public static let forbidden: EndpointStatus = 403
  /// 404
  public static let notFound: EndpointStatus = 404
  /// 405
  public static let methodNotAllowed: EndpointStatus = 405
  /// 413
  public static let contentTooLarge: EndpointStatus = 413
  /// 500
  public static let internalServerError: EndpointStatus = 500
  /// 501
  public static let notImplemented: EndpointStatus = 501
  /// 503
  public static let serviceUnavailable: EndpointStatus = 503

  /// RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5: nothing follows the head of a 204, a 205 or a 304.
  var allowsBody: Bool { rawValue != 204 && rawValue != 205 && rawValue != 304 }

  /// The reason phrase of the registered codes that a small server sends. It may be empty (RFC 9112,
  /// section 4), as it is for all others.
  var reasonPhrase: String { Self.reasonPhrases[rawValue] ?? "" }

  private static let reasonPhrases = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 205: "Reset Content",
    206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    411: "Length Required", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type",
    417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request", 422: "Unprocessable Content",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
  ]
}

/// The bytes of a response that are not sent yet.
package struct UnsentBytes: Sendable {
  /// The most bytes of a body that are copied behind the head, so that both leave in one call, and so in one segment if they
  /// fit. The rest stays in the array in which the handler made it, which connections may share.
  private static let gatheringLimit = 16_384

  private var first: ArraySlice<UInt8> = []
  private var rest: ArraySlice<UInt8> = []

  package init() {}

  init(_ response: EndpointResponse, isHead: Bool, minorVersion: Int, keepsAlive: Bool, date: [UInt8]) {
    let head = Self.head(response, minorVersion: minorVersion, keepsAlive: keepsAlive, date: date)
    self.init(head: head, body: isHead || !response.status.allowsBody ? [] : response.body)
  }

  package init(head: [UInt8], body: [UInt8]) {
    first = (head + body.prefix(Self.gatheringLimit))[...]
    rest = body.dropFirst(Self.gatheringLimit)
  }

  package var isEmpty: Bool { first.isEmpty && rest.isEmpty }

  /// What one call can send.
  package func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    (first.isEmpty ? rest : first).withUnsafeBytes(body)
  }

  package mutating func removeFirst(_ count: Int) {
    let ofFirst = min(count, first.count)
    first = first.dropFirst(ofFirst)
    rest = rest.dropFirst(count - ofFirst)
    // Each gives its memory back.
    if first.isEmpty { first = [] }
    if rest.isEmpty { rest = [] }
  }

  /// RFC 9112, section 4.
  private static func head(
    _ response: EndpointResponse, minorVersion: Int, keepsAlive: Bool, date: [UInt8]
  ) -> [UInt8] {
    var head: [UInt8] = []
    head.reserveCapacity(256)
    func write(_ text: String) { head.append(contentsOf: text.utf8) }
    let status = response.status
    for text in ["HTTP/1.1 ", String(status.rawValue), " ", status.reasonPhrase, "\r\nDate: "] { write(text) }
    head.append(contentsOf: date)
    for field in response.headers.fields where isAllowed(field.name) {
      write("\r\n")
      write(field.name)
      write(": ")
      for byte in field.value.utf8 { head.append(ByteClass.isFieldValue(byte) ? byte : ByteClass.space) }
    }
    // RFC 9110, section 8.6: no field may announce a body where there can be none.
    if response.status.allowsBody {
      write("\r\nContent-Length: ")
      write(String(response.body.count))
    }
    if !keepsAlive {
      write("\r\nConnection: close")
    } else if minorVersion == 0 {
      // RFC 9112, section 9.3: the response to a 1.0 client that has asked to persist must confirm it.
      write("\r\nConnection: keep-alive")
    }
    write("\r\n\r\n")
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
