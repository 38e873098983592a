/// The method of a request (RFC 9110, section 9). Methods are case-sensitive: `get` is not `GET`.
public struct EndpointMethod: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
  /// The method as in the request line.
  public let rawValue: String

  /// Makes a method from its name as in the request line.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Makes a method from a literal.
  public init(stringLiteral value: String) {
    self.init(rawValue: value)
  }

  /// RFC 9110, section 9.3.1. A route for GET answers HEAD too.
  public static let get: EndpointMethod = "GET"
  /// RFC 9110, section 9.3.2.
  public static let head: EndpointMethod = "HEAD"
  /// RFC 9110, section 9.3.3.
  public static let post: EndpointMethod = "POST"
  /// RFC 9110, section 9.3.4.
  public static let put: EndpointMethod = "PUT"
  /// RFC 9110, section 9.3.5.
  public static let delete: EndpointMethod = "DELETE"
  /// RFC 9110, section 9.3.7.
  public static let options: EndpointMethod = "OPTIONS"
  /// RFC 9110, section 9.3.8.
  public static let trace: EndpointMethod = "TRACE"
  /// RFC 5789.
  public static let patch: EndpointMethod = "PATCH"

  /// The methods that a server is expected to recognize: those that no route takes get a 405, all others a
  /// 501 (RFC 9110, section 9.1). CONNECT is for proxies.
  static let standard: Set<EndpointMethod> = [.get, .head, .post, .put, .delete, .options, .trace, .patch]
}
