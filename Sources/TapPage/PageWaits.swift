package import TapCore

/// The requests that wait for longer than the limits of their directions, as the page reads them: the oldest
/// hundred.
///
/// ```json
/// {"limit_s": {"made": 30.0, "served": 30.0}, "held_s": 0.0, "count": 1, "unstarted": 0,
///  "oldest": [{"id": "861723004511000", "start_us": 1763717400123456,
///   "line": {"event": "http.client.request.waiting", "client.name": "payments", "duration_s": 42.0}}]}
/// ```
///
/// `id` is the same for as long as a request waits. A line has the keys of the log's lines: no address,
/// unless the log is served.
package final class PageWaits: Sendable {
  private static let limit = 100

  private let recorder: RequestRecorder
  private let line: @Sendable (RequestSnapshot) -> String
  private let answer = SharedAnswer()

  /// - Parameter line: Writes the line of a request as a JSON object. By default it has what the metrics
  ///   have.
  package init(_ recorder: RequestRecorder, line: (@Sendable (RequestSnapshot) -> String)? = nil) {
    (self.recorder, self.line) = (recorder, line ?? Self.line)
  }

  package func json(at now: Instant = .now) -> [UInt8] {
    answer.bytes(at: now) {
      let waiting = recorder.waitingRequests(atMost: Self.limit, at: now)
      let limits = zip(["made", "served"], waiting.limits).compactMap { side, limit in
        limit.map { "\"\(side)\":\(Self.seconds($0))" }
      }
      let oldest = waiting.oldest.map { request in
        let (microseconds, _) = request.start.nanosecondsSinceEpoch.flooredQuotientAndRemainder(by: 1_000)
        return
          "{\"id\":\"\(request.begin.nanoseconds)\",\"start_us\":\(microseconds),\"line\":\(line(request))}"
      }
      return """
        {"limit_s":{\(limits.joined(separator: ","))},\
        "held_s":\(Self.seconds(waiting.heldTime ?? .zero)),"count":\(waiting.count),\
        "unstarted":\(waiting.unstartedCount),"oldest":\(JSONText.list(oldest))}

        """
    }
  }

  private static func line(_ request: RequestSnapshot) -> String {
    let (isMade, described) = (request.request.direction == .outbound, request.request)
    var members: [String] = []
    func add(_ key: String, _ text: String?) {
      if let text { members.append("\"\(key)\":\"\(JSONText.escaped(text))\"") }
    }
    func add(_ key: String, _ number: (some CustomStringConvertible)?) {
      if let number { members.append("\"\(key)\":\(number)") }
    }
    add("event", "http.\(isMade ? "client" : "server").request.waiting")
    if isMade { add("client.name", described.client) }
    add("http.request.method", described.methodLabel)
    add(isMade ? "url.template" : "http.route", described.urlTemplate)
    if isMade {
      add("server.address", described.serverAddress)
      add("server.port", described.serverPort)
    }
    add("http.response.status_code", request.statusCode)
    add("duration_s", seconds(request.duration))
    add("waiting_for", request.wait?.rawValue)
    add("idle_s", request.idleTime.map(seconds))
    add("http.request.body.size", request.requestBodySize)
    add("http.response.body.size", request.responseBodySize)
    return "{\(members.joined(separator: ","))}"
  }

  private static func seconds(_ duration: Duration) -> Double {
    Double(duration.nanoseconds / 1_000_000) / 1e3
  }
}
