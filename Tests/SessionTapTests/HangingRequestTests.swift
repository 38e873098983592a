import SessionTap
import TestSupport

/// Requests that hang, against a server that knows since when: what the metric, the log and the list say.
@Suite struct HangingRequestTests {
  /// What waits for anything else, TransferProgressTests have.
  enum Hang: CaseIterable { case noAnswer, dribbles }

  /// What hangs at the server, and what it has done until then.
  private final class Server: Sendable {
    let (asked, over) = (Gate(), Gate())
    /// Opened one after another, as the bytes of a body go.
    let bytes = (0..<100).map { _ in Gate() }
    let arrival = Mutex<Instant?>(nil)

    func steps(_ hang: Hang) -> [OriginStep] {
      arrival.withLock { $0 = $0 ?? .now }
      if hang == .noAnswer { return [.signal(asked), .hold(over)] }
      return [.text("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), .signal(asked)]
        + bytes.flatMap { [.text("x"), .signal($0), .think(300)] }
    }
  }

  @Test(arguments: Hang.allCases)
  func `what hangs is in the list, in a line and in a metric, with its age`(hang: Hang) async throws {
    let server = Server()
    let origin = try Origin { _ in server.steps(hang) }
    defer { server.over.open() }
    let tap = try Tap.start(.test { ($0.servesLog, $0.outbound.waitingLimit) = (true, .milliseconds(300)) })
    let session = tap.session(client: "c", configuration: .ephemeral)
    let resumed = Instant.now
    let task = session.dataTask(with: origin.url("/hangs"))
    task.resume()
    try await server.asked.wait("the request")
    let arrival = try #require(server.arrival.withLock { $0 })

    let known = "\(origin.url("/hangs")) " + (hang == .noAnswer ? "response -" : "body 200")
    func isKnown(_ line: JSONMembers) -> Bool {
      line.row("url.full", "waiting_for", "http.response.status_code") == known
    }
    // The server knows that the request is not younger, and the app that it is not older.
    func isAge(_ age: Double?, since before: Instant) -> Bool {
      let least = arrival.duration(to: before).seconds - 0.001
      let most = resumed.duration(to: .now).seconds + 0.001
      return age.map { least <= $0 && $0 <= most } ?? false
    }
    let listed = try await Poll.until("the request in the list") {
      let before = Instant.now
      let lines = try await tap.objects("/requests")
      #expect(lines.count == 1 && isAge(lines[0].number("duration_s"), since: before))
      return lines.first(where: isKnown)
    }
    let age = try #require(listed.number("duration_s"))
    #expect(listed.number("idle_s") ?? 0 <= age)
    let size = try #require(listed["http.response.body.size"] as? Int)
    if hang == .dribbles {
      // Each byte that the list shows has gone, and more follow.
      #expect(size <= server.bytes.count { $0.isOpen } + 1)
      try await #require(server.bytes.dropFirst(size + 1).first).wait("two bytes more")
      try await Poll.until("progress in the list") {
        let later = try await tap.objects("/requests").first?["http.response.body.size"] as? Int
        return try #require(later) > size
      }
    } else {
      #expect(size == 0)
    }

    let before = Instant.now
    let metrics = try await tap.get("/metrics")
    let labels = #"client="c",http_request_method="GET",server_address="127.0.0.1""#
    let values = ["http_client_active_requests", "http_client_oldest_active_request_seconds"].map {
      ExpositionText.sum(of: $0, with: labels, in: metrics)
    }
    #expect(values[0] == 1 && isAge(values[1], since: before))
    #expect(ExpositionText.sum(of: "session_tap_unstarted_requests", in: metrics) == 0)

    let line = try await Poll.until("the line") {
      try await tap.objects("/logs?severity=warn").first(where: isKnown)
    }
    let reported = try #require(line.number("duration_s"))
    #expect(line.row("event") == "http.client.request.waiting")
    #expect(0.3 <= reported && reported <= resumed.duration(to: .now).seconds)

    task.cancel()
    try await Poll.until("an empty list") { try await tap.objects("/requests").isEmpty }
    // A status that was received is in the line, however the request ends after it.
    let end = try await Poll.until("the end") {
      try await tap.objects("/logs").first { $0.row("event") == "http.client.request" }
    }
    let status = end.row("outcome", "http.response.status_code")
    #expect(status == (hang == .noAnswer ? "cancelled -" : "cancelled 200"))
    let after = try await tap.get("/metrics")
    #expect(ExpositionText.sum(of: "http_client_oldest_active_request_seconds", in: after) == 0)
    session.invalidateAndCancel()
    await tap.shutdown()
  }
}
