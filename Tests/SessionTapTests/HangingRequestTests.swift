import SessionTap
import TestSupport

/// A request that hangs, against a server that knows since when: what the metric, the log and the list say.
/// What it may wait for, TransferProgressTests have.
@Suite struct HangingRequestTests {
  @Test func `what hangs is in the list, in a line and in a metric, with its age`() async throws {
    let (asked, over) = (Gate(), Gate())
    let arrival = Watched<Instant?>(nil)
    let origin = try Origin { _ in
      arrival.change { $0 = .now }
      return [.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), .signal(asked), .hold(over)]
    }
    defer { over.open() }
    let tap = try Tap.start(.test { ($0.servesLog, $0.outbound.waitingLimit) = (true, .milliseconds(300)) })
    let session = tap.session(client: "c", configuration: .ephemeral)
    let resumed = Instant.now
    let task = session.dataTask(with: origin.url("/hangs"))
    task.resume()
    try await asked.wait("the request")
    let arrived = try #require(arrival.state)

    func isKnown(_ line: JSONMembers) -> Bool {
      line.row("url.full", "waiting_for", "http.response.status_code") == "\(origin.url("/hangs")) body 200"
    }
    // The server knows that the request is not younger, and the app that it is not older.
    func isAge(_ age: Double?, since before: Instant) -> Bool {
      let least = arrived.duration(to: before).seconds - 0.001
      let most = resumed.duration(to: .now).seconds + 0.001
      return age.map { least <= $0 && $0 <= most } ?? false
    }
    let listed = try await Poll.until("the request in the list") {
      let before = Instant.now
      let lines = try await tap.objects("/requests")
      #expect(lines.count == 1 && isAge(lines[0].number("duration_s"), since: before))
      return lines.first(where: isKnown)
    }
    #expect(listed["http.response.body.size"] as? Int == 1)

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
    let end = try await Poll.until("the end") {
      try await tap.objects("/logs").first { $0.row("event") == "http.client.request" }
    }
    #expect(end.row("outcome", "http.response.status_code") == "cancelled 200")
    let after = try await tap.get("/metrics")
    #expect(ExpositionText.sum(of: "http_client_oldest_active_request_seconds", in: after) == 0)
    session.invalidateAndCancel()
    await tap.shutdown()
  }
}
