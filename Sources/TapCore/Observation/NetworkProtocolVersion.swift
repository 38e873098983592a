/// The HTTP version of a response (OpenTelemetry, `network.protocol.version`).
public enum NetworkProtocolVersion: String, Sendable, Hashable, CaseIterable {
  /// HTTP/1.0
  case http10 = "1.0"
  /// HTTP/1.1
  case http11 = "1.1"
  /// HTTP/2
  case http2 = "2"
  /// HTTP/3
  case http3 = "3"
}
