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
  /// 408
  public static let requestTimeout: EndpointStatus = 408
  /// 411
  public static let lengthRequired: EndpointStatus = 411
  /// 413
  public static let contentTooLarge: EndpointStatus = 413
  /// 414
  public static let uriTooLong: EndpointStatus = 414
  /// 417
  public static let expectationFailed: EndpointStatus = 417
  /// 431
  public static let requestHeaderFieldsTooLarge: EndpointStatus = 431
  /// 500
  public static let internalServerError: EndpointStatus = 500
  /// 501
  public static let notImplemented: EndpointStatus = 501
  /// 503
  public static let serviceUnavailable: EndpointStatus = 503
  /// 505
  public static let httpVersionNotSupported: EndpointStatus = 505

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
