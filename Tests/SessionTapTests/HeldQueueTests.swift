import SessionTap
import TestSupport

/// The queue of all URLSessions, held in a process of its own: what the metric, the log, the list and the
/// page say, against one who knows since when.
@Suite(.needs(.thread)) struct HeldQueueTests {
  private static func heldSeconds(_ tap: Tap) async throws -> Double {
    ExpositionText.sum(of: "session_tap_queue_held_seconds", in: try await tap.get("/metrics"))
  }

  private static func heldOnPage(_ tap: Tap) async throws -> Double {
    let answer = try await tap.get("/why", fields: "Accept: application/json\r\n")
    let findings = try jsonObject(RawClient.body(of: answer))["findings"] as? [JSONMembers] ?? []
    let held = findings.first { $0.row("kind") == "held" }
    return (held?["figures"] as? JSONMembers)?.number("seconds") ?? 0
  }

  /// - Parameter before: When the queue still ran.
  private static func expectHeld(_ tap: Tap, since before: Instant) async throws {
    func isAge(_ seconds: Double) -> Bool { seconds <= before.duration(to: .now).seconds }
    // What a scrape asks, another one shows, and from then on it grows as time does.
    let first = try await Poll.until("the metric") {
      let held = try await heldSeconds(tap)
      return held > 1 ? held : nil
    }
    let shown = Instant.now
    try await Poll.until("a metric that grows") {
      let wait = shown.duration(to: .now).seconds
      let held = try await heldSeconds(tap)
      // The page says nothing of the first five seconds.
      let onPage = try await heldOnPage(tap)
      #expect(isAge(held) && held >= first + wait - 0.001 && (onPage == 0 || onPage >= 5))
      return wait > 1
    }
    let line = try await Poll.until("the line") {
      try await tap.objects("/logs").first { $0.row("event") == "session_tap.queue.held" }
    }
    let seconds = try #require(line.number("duration_s"))
    #expect(seconds >= 5 && isAge(seconds))
    #expect(line.row("message").contains("something holds the one queue of all sessions"))
    // What was seen of it before counts for two seconds.
    try await Poll.until("a request of which is not known what it waits for") {
      try await tap.objects("/requests").map { $0.row("waiting_for") } == ["-"]
    }
    try await Poll.until("the page") {
      let held = try await heldOnPage(tap)
      #expect(isAge(held))
      return held >= 5
    }
  }

  @Test func `is said to be held, and since when`() async throws {
    await #expect(processExitsWith: .exitCode(7)) {
      // Nothing but the request that waits has the queue looked at.
      let tap = try Tap.start(.test { ($0.servesLog, $0.outbound.waitingLimit) = (true, .seconds(1)) })
      let over = Gate()
      let origin = try Origin { $0.path == "/hangs" ? [.hold(over)] : [.response()] }
      let session = tap.session(client: "c", configuration: .ephemeral)
      let hanging = session.dataTask(with: origin.url("/hangs")) { _, _, _ in }
      hanging.resume()
      try await Poll.until("a request that waits") { tap.activeRequests().map(\.wait) == [.response] }
      let (before, held, release) = (Instant.now, Gate(), Gate())
      let url = QueueHold.url {
        held.open()
        release.waitBlocking()
      }
      let holder = URLSession(configuration: with(.ephemeral) { $0.protocolClasses = [QueueHold.self] })
      holder.dataTask(with: url) { _, _, _ in }.resume()
      try await held.wait("the queue")
      Thread.detachNewThread { session.dataTask(with: origin.url("/meanwhile")) { _, _, _ in }.resume() }
      try await Self.expectHeld(tap, since: before)
      release.open()
      try await Poll.until("a queue that runs") { try await Self.heldSeconds(tap) == 0 }
      hanging.cancel()
      try await Poll.until("the ends") { tap.activeRequests().isEmpty }
      try await Poll.until("a page that says no more") { try await Self.heldOnPage(tap) == 0 }
      exit(7)
    }
  }

  /// Blocks that wait in Dispatch's pool take its threads, and not that of the queue. In a process of its
  /// own, of whose tasks none runs meanwhile. That the app's queues may take all, EightFaultsTests say.
  @Test func `is not said to be held where Dispatch's pool has no thread`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let tap = try Tap.start(.test { $0.endpoint = nil })
      let origin = try Origin { _ in [.response()] }
      let session = tap.session(client: "c", configuration: .ephemeral)
      Thread.detachNewThread {
        func isHeld() -> Bool { tap.registry.value(of: "session_tap_queue_held_seconds") ?? 1 >= 1 }
        let isFree = Atomic(false)
        for _ in 0..<300 { DispatchQueue.global().async { while true { pause() } } }
        DispatchQueue.global().async { isFree.store(true, ordering: .relaxed) }
        _ = isHeld()
        for _ in 0..<60 { session.dataTask(with: origin.url()).resume() }
        while origin.requests.count < 60 { poll(nil, 0, 10) }
        // A question has its answer, before the next one.
        for _ in 0..<10 {
          poll(nil, 0, 1_500)
          if !isHeld() { exit(isFree.load(ordering: .relaxed) ? 1 : 7) }
        }
        exit(2)
      }
      try await Gate.waitForCancel()
    }
  }

  /// The way to the queue is a session, whose libcurl begins OpenSSL. Where that meets the end that OpenSSL
  /// has at exit(3), the process ends with a fault: an app without sessions has none of this.
  @Test func `is not asked of before the app has a configuration for a session`() async throws {
    await #expect(processExitsWith: .success) {
      let tap = try Tap.start(.test { $0.endpoint = nil })
      tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
      let before = try OpenDescriptors.count
      #expect(tap.registry.value(of: "session_tap_queue_held_seconds") == 0)
      #expect(try OpenDescriptors.count == before)
      // libcurl has descriptors for each session.
      _ = tap.sessionConfiguration(from: .ephemeral, client: "c")
      #expect(try OpenDescriptors.count > before)
    }
  }
}
