/// The direction of a request.
public enum RequestDirection: String, Sendable, Hashable, CaseIterable {
  /// The app makes it.
  case outbound
  /// The app serves it.
  case inbound

  /// A 4xx status code is an error for a client, but not for a server, whose caller made it (OpenTelemetry
  /// HTTP conventions, "Status").
  func isError(_ statusCode: Int) -> Bool { ((self == .inbound ? 500 : 400)...599).contains(statusCode) }
}
