import TestSupport

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
    func sum(_ metric: String) -> Double { ExpositionText.sum(of: metric, with: label, in: exposition) }
    started = sum("session_tap_started_requests_total")
    ended = sum("session_tap_ended_requests_total")
    cancelled = sum("session_tap_cancelled_requests_total")
    active = sum("http_client_active_requests")
  }

  /// 0 if every request that started has ended or is active.
  var balance: Double { started - ended - active }
}
