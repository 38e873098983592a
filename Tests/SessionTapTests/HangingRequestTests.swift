import SessionTap
import TestSupport

/// Requests that hang, against a server that knows since when: what the metric, the log and the list say.
@Suite struct HangingRequestTests {
  enum Hang: CaseIterable { case noAnswer, stopsInBody, dribbles, challenge, redirect }

  /// What hangs at the server, and what it has done until then.
  private final class Server: Sendable {
    let (asked, over) = (Gate(), Gate())
    /// Opened one after another, as the bytes of a body go.
    let bytes = (0..<100).map { _ in Gate() }
    let arrival = Mutex<Instant?>(nil)

    func steps(_ hang: Hang) -> [OriginStep] {
      arrival.withLock { $0 = $0 ?? .now }
      let head = OriginStep.text("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      let steps: [OriginStep] =
        switch hang {
        case .noAnswer: [.hold(over)]
        case .stopsInBody: [head, .text("hello"), .signal(asked), .hold(over)]
        case .dribbles: [head, .signal(asked)] + bytes.flatMap { [.text("x"), .signal($0), .think(300)] }
        case .challenge: [.response("401 No", headers: [("WWW-Authenticate", "Basic realm=\"x\"")])]
        case .redirect: [.redirect(to: "/end")]
        }
      if [.noAnswer, .challenge, .redirect].contains(hang) { asked.open() }
      return steps
    }
  }

  /// An app that answers no question.
  private final class SilentDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {}

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {}
  }

  private static func tap() throws -> Tap {
    try Tap.start(
      .test { configuration in
        configuration.servesLog = true
        configuration.outbound.waitingLimit = .milliseconds(300)
      })
  }

  /// The lines of an answer of `/requests` or `/logs`.
  private static func lines(_ tap: Tap, _ path: String) async throws -> [[String: Any]] {
    let answer = try await tap.get(path)
    let body = try #require(answer.ranges(of: "\r\n\r\n").first).upperBound
    return try answer[body...].split(separator: "\n").map {
      try jsonObject($0)
    }
  }

  private static func seconds(_ line: [String: Any], _ key: String = "duration_s") throws -> Double {
    try #require(line[key] as? Double)
  }

  @Test(arguments: Hang.allCases)
  func `what hangs is in the list, in a line and in a metric, with its age`(hang: Hang) async throws {
    let server = Server()
    let origin = try Origin { _ in server.steps(hang) }
    defer { server.over.open() }
    let tap = try Self.tap()
    let session = tap.session(
      client: "c", configuration: .ephemeral, delegate: SilentDelegate(), delegateQueue: nil)
    let resumed = Instant.now
    let task = session.dataTask(with: origin.url("/hangs"))
    task.resume()
    try await server.asked.wait("the request")
    let arrival = try #require(server.arrival.withLock { $0 })

    let (wait, status): (RequestWait, Int?) =
      switch hang {
      case .noAnswer: (.response, nil)
      case .stopsInBody, .dribbles: (.body, 200)
      case .challenge: (.credentials, 401)
      case .redirect: (.redirect, 302)
      }
    let url = origin.url("/hangs").absoluteString
    func isKnown(_ line: [String: Any]) -> Bool {
      line["waiting_for"] as? String == wait.rawValue && line["url.full"] as? String == url
    }
    // The server knows that the request is not younger, and the app that it is not older.
    func isAge(_ age: Double, since before: Instant) -> Bool {
      age >= arrival.duration(to: before).seconds - 0.001
        && age <= resumed.duration(to: .now).seconds + 0.001
    }
    let listed = try await Poll.until("the request in the list") {
      let before = Instant.now
      let lines = try await Self.lines(tap, "/requests")
      #expect(lines.count == 1)
      for line in lines { #expect(isAge(try Self.seconds(line), since: before)) }
      return lines.first(where: isKnown)
    }
    #expect(listed["http.response.status_code"] as? Int == status)
    if let idle = listed["idle_s"] as? Double { #expect(idle <= (try Self.seconds(listed))) }
    let size = listed["http.response.body.size"] as? Int
    switch hang {
    case .noAnswer: #expect(size == 0)
    case .stopsInBody: #expect(size == 5)
    case .dribbles:
      // Each byte that the list shows has gone, and more follow.
      let first = try #require(size)
      #expect(first <= server.bytes.count { $0.isOpen } + 1)
      let following = server.bytes.dropFirst(first + 1)
      try await #require(following.first).wait("two bytes more")
      try await Poll.until("progress in the list") {
        let later = try await Self.lines(tap, "/requests").first?["http.response.body.size"] as? Int
        return try #require(later) > first
      }
    case .challenge, .redirect: break
    }

    let before = Instant.now
    let metrics = try await tap.get("/metrics")
    let labels = #"client="c",http_request_method="GET",server_address="127.0.0.1""#
    func value(_ name: String) -> Double { ExpositionText.sum(of: name, with: labels, in: metrics) }
    #expect(value("http_client_active_requests") == 1)
    #expect(isAge(value("http_client_oldest_active_request_seconds"), since: before))
    #expect(ExpositionText.sum(of: "session_tap_unstarted_requests", in: metrics) == 0)

    let line = try await Poll.until("the line") {
      try await Self.lines(tap, "/logs?severity=warn").first(where: isKnown)
    }
    #expect(line["event"] as? String == "http.client.request.waiting")
    #expect(try Self.seconds(line) >= 0.3)
    #expect(try Self.seconds(line) <= resumed.duration(to: .now).seconds)

    task.cancel()
    try await Poll.until("an empty list") { try await Self.lines(tap, "/requests").isEmpty }
    let after = try await tap.get("/metrics")
    #expect(ExpositionText.sum(of: "http_client_oldest_active_request_seconds", in: after) == 0)
    session.invalidateAndCancel()
    await tap.shutdown()
  }

  @Test(.needs(.program)) func `a signal while 20 requests are active`() async throws {
    let (folder, over) = (try TemporaryFolder(), Gate())
    let path = folder("requests.jsonl")
    let arrivals = Watched<[String: Timestamp]>([:])
    let origin = try Origin { request in
      arrivals.change { $0[request.path] = .now }
      return [.hold(over)]
    }
    defer { over.open() }
    try ExitValues.give("HangingRequestTests.2", path, origin.url().absoluteString)
    let begin = Timestamp.now
    await #expect(processExitsWith: .exitCode(7)) {
      let (path, url) = try ExitValues.take("HangingRequestTests.2", String.self, String.self)
      let tap = try Tap.start(.test(log: .file(path)))
      let configuration = with(URLSessionConfiguration.ephemeral) { $0.httpMaximumConnectionsPerHost = 20 }
      let session = tap.session(client: "c", configuration: configuration)
      for number in 0..<20 {
        let url = try #require(URL(string: "\(url)\(number)"))
        session.dataTask(with: url) { _, _, _ in }.resume()
      }
      try await tap.runUntilTerminated {
        // All have come to the server.
        try await Poll.until("requests that wait") {
          tap.activeRequests().count { $0.wait == .response && $0.responseBodySize == 0 } == 20
        }
        kill(getpid(), SIGTERM)
        try await Gate.waitForCancel()
      }
      exit(7)
    }
    let known = arrivals.state
    var ages: [String: Double] = [:]
    for line in try folder.lines("requests.jsonl") where line.contains("http.client.request.unfinished") {
      let object = try jsonObject(line)
      #expect(object["waiting_for"] as? String == "response")
      let url = try #require((object["url.full"] as? String).flatMap { URL(string: $0) })
      #expect(known[url.path] != nil)
      let text = try #require(object["timestamp"] as? String)
      let written = try #require(ISO8601DateFormatter().date(from: text.prefix(19) + "Z"))
      let digits: Substring = text.dropFirst(19).dropLast()
      let fraction = try #require(Double("0\(digits)"))
      let start = written.timeIntervalSince1970 + fraction - (try Self.seconds(object))
      // Begun after the server was there. The line is written soon after the age is taken.
      #expect(start >= Double(begin.nanosecondsSinceEpoch) / 1e9)
      #expect(ages.updateValue(try Self.seconds(object), forKey: url.path) == nil)
    }
    #expect(ages.count == 20)
  }
}
