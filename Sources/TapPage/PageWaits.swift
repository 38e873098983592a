import TapCore

/// The requests that have been active for five seconds or for the limit of their direction, as the page reads
/// them: the oldest hundred.
///
/// ```json
/// {"count": 1,
///  "oldest": [{"id": "861723004511000", "start_us": 1763717400123456, "hangs": true,
///   "words": "waits for the response", "why": "The head of the response has not come.",
///   "line": {"event": "http.client.request.waiting", "client.name": "payments", "duration_s": 42.0}}]}
/// ```
///
/// `id` is the same for as long as a request is active. A line has the keys of the log's lines: no address,
/// unless the log is served.
final class PageWaits: Sendable {
  private let recorder: RequestRecorder
  private let line: @Sendable (RequestSnapshot) -> String
  private let answers = PageAnswers()

  /// - Parameter line: Writes the line of a request as a JSON object. By default it has what the metrics
  ///   have.
  init(_ recorder: RequestRecorder, line: (@Sendable (RequestSnapshot) -> String)? = nil) {
    (self.recorder, self.line) = (recorder, line ?? Self.line)
  }

  func json(at now: Instant = .now) -> [UInt8] {
    answers.bytes(at: now) {
      let waiting = recorder.waitingRequests(atMost: Evidence.activeLimit, at: now, orFor: Evidence.ageLimit)
      let past = Past(Evidence(recorder, waiting, at: now), span: 30)
      let oldest = zip(waiting.oldest, past.evidence.active).map { request, active in
        let (hangs, wait) = (past.hangs(active), Words.wait(request.wait))
        return JSON.object([
          ("id", .text("\(request.begin.nanoseconds)")), ("start_us", .time(request.start)),
          ("hangs", .number(hangs)), ("words", .text(hangs ? "waits \(wait.what)" : "is active")),
          ("why", .text(hangs ? wait.why : nil)), ("line", JSON(description: line(request))),
        ])
      }
      return JSON.object([
        ("count", .number(waiting.count)), ("oldest", .list(oldest)),
      ]).description + "\n"
    }
  }

  private static func line(_ snapshot: RequestSnapshot) -> String {
    let request = snapshot.request
    let isMade = request.direction == .outbound
    return JSON.object([
      ("event", .text("http.\(isMade ? "client" : "server").request.waiting")),
      ("client.name", isMade ? .text(request.client) : nil),
      ("http.request.method", .text(request.methodLabel)),
      (isMade ? "url.template" : "http.route", .text(request.urlTemplate)),
      ("server.address", isMade ? .text(request.serverAddress) : nil),
      ("server.port", isMade ? .number(request.serverPort) : nil),
      ("trace_id", .text(request.traceContext?.traceID)), ("span_id", .text(request.traceContext?.spanID)),
      ("http.response.status_code", .number(snapshot.statusCode)), ("duration_s", .time(snapshot.duration)),
      ("waiting_for", .text(snapshot.wait?.rawValue)), ("idle_s", .time(snapshot.idleTime)),
      ("http.request.body.size", .number(snapshot.requestBodySize)),
      ("http.response.body.size", .number(snapshot.responseBodySize)),
    ]).description
  }
}
