/// The direction of a request.
public enum RequestDirection: String, Sendable, Hashable, CaseIterable {
  /// The app makes it.
  case outbound
  /// The app serves it.
  case inbound

  /// A 4xx status code is an error for a client, but not for a server, whose caller made it (OpenTelemetry
  /// HTTP conventions, "Status"). One above 599 counts as a 5xx (RFC 9110, section 15).
  func isError(_ statusCode: Int) -> Bool { ((self == .inbound ? 500 : 400)...999).contains(statusCode) }
}
