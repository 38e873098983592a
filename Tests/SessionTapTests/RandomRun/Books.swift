/// What an exposition says of requests, over all clients.
struct Books {
  let started: Double
  let ended: Double
  let active: Double

  /// Reads the text format.
  init(_ exposition: String) {
    var sums: [Substring: Double] = [:]
    for line in exposition.split(separator: "\n") where !line.hasPrefix("#") {
      let metric = line.prefix { $0 != "{" && $0 != " " }
      sums[metric, default: 0] += line.split(separator: " ").last.flatMap { Double($0) } ?? .nan
    }
    started = sums["session_tap_started_requests_total"] ?? 0
    ended = sums["session_tap_ended_requests_total"] ?? 0
    active = sums["http_client_active_requests"] ?? 0
  }

  /// 0 if every request that started has ended or is active.
  var balance: Double { started - ended - active }
}
