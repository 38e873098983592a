/// The keys that a line has by itself. They stay reserved where their value is unknown: a reader that finds one
/// knows what it means.
struct ReservedKeys: Sendable {
  private let keys: Set<String>

  /// Of the lines of all requests.
  private static let common: Set<String> = [
    "timestamp", "severity", "event", "dropped_attributes_count", "trace_id", "span_id",
    "http.request.method", "http.request.method_original", "http.response.status_code", "error.type",
    "error.message", "duration_s", "http.request.body.size", "http.response.body.size", "outcome",
  ]

  /// Of the line of a request.
  static let request = ReservedKeys(
    keys: common.union([
      "client", "url.full", "url.template", "server.address", "server.port", "time_to_first_byte_s",
      "queue_s", "resolve_s", "connect_s", "tls_s", "upload_s", "processing_s", "transfer_s", "local_s",
      "network.protocol.version", "network.peer.address", "connection.reused", "network.round_trip_s",
      "network.retransmits", "http.request.resend_count", "from_cache",
    ]))

  /// Of the line of a request that the app served.
  static let inbound = ReservedKeys(
    keys: common.union(["url.path", "url.scheme", "http.route", "client.address"]))

  /// Of a line of the app's own, which may well name a client.
  static let app = ReservedKeys(
    keys: ["timestamp", "severity", "event", "message", "dropped_attributes_count"])

  func allows(_ key: String) -> Bool {
    !keys.contains(key) && !key.hasPrefix("http.request.header.") && !key.hasPrefix("http.response.header.")
  }
}
