/// What an exposition says of requests.
struct Books: Equatable {
  let started: Double
  let ended: Double
  let cancelled: Double
  let active: Double

  /// Reads the text format.
  ///
  /// - Parameter client: Whose requests. All clients' by default.
  init(_ exposition: String, client: String? = nil) {
    let label = client.map { "client=\"\($0)\"" } ?? ""
    var sums: [Substring: Double] = [:]
    for line in exposition.split(separator: "\n")
    where Self.tells(line) && (label.isEmpty || line.contains(label)) {
      let metric = line.prefix { $0 != "{" && $0 != " " }
      sums[metric, default: 0] += line.split(separator: " ").last.flatMap { Double($0) } ?? .nan
    }
    started = sums["session_tap_started_requests_total"] ?? 0
    ended = sums["session_tap_ended_requests_total"] ?? 0
    cancelled = sums["session_tap_cancelled_requests_total"] ?? 0
    active = sums["http_client_active_requests"] ?? 0
  }

  /// Whether a line may be one of those that are read. The rest of an exposition is long.
  private static func tells(_ line: Substring) -> Bool {
    line.hasPrefix("session_tap_") || line.hasPrefix("http_client_active_requests")
  }

  /// 0 if every request that started has ended or is active.
  var balance: Double { started - ended - active }
}
