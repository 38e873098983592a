/// A status code (RFC 9110, section 15).
public struct EndpointStatus: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral {
  /// The three digits.
  public let rawValue: Int

  /// Makes a status from its code. A response whose code is no final one (200 to 999) is sent as 500.
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
  package var allowsBody: Bool { rawValue != 204 && rawValue != 205 && rawValue != 304 }

  /// The reason phrase of the registered codes that a small server sends. It may be empty (RFC 9112,
  /// section 4), as it is for all others.
  package var reasonPhrase: String {
    switch rawValue {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 205: "Reset Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 418: "I'm a teapot"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
  }
}
