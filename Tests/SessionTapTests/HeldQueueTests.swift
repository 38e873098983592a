import SessionTap
import TestSupport

/// The queue of all URLSessions, held in a process of its own: what the metric, the log, the list and the
/// page say, against one who knows since when.
@Suite(.needs(.thread)) struct HeldQueueTests {
  enum Holder: CaseIterable, Codable {
    /// A protocol class of the app's that does not return.
    case protocolClass
    /// Swift 6.3.1 to 6.3.3: the cancel of a Swift task holds its lock and waits for the queue, on which the
    /// end of the request waits for that lock (swift-corelibs-foundation 5412).
    case cancel
  }

  private static func heldSeconds(_ tap: Tap) async throws -> Double {
    ExpositionText.sum(of: "session_tap_queue_held_seconds", in: try await tap.get("/metrics"))
  }

  private static func heldOnPage(_ tap: Tap) async throws -> Double {
    try #require(jsonObject(try await tap.body("/page/waits")).number("held_s"))
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

  /// Holds the queue. Returns whether it is held for as long as the gate is closed, or for ever.
  private static func hold(_ holder: Holder, until release: Gate) async throws -> Bool {
    let session = URLSession(configuration: with(.ephemeral) { $0.protocolClasses = [QueueHold.self] })
    let held = Gate()
    switch holder {
    case .protocolClass:
      let url = QueueHold.url {
        held.open()
        release.waitBlocking()
      }
      session.dataTask(with: url) { _, _, _ in }.resume()
      try await held.wait("the queue")
      return true
    case .cancel:
      let (cancels, cancelled) = (Gate(), Gate())
      let url = QueueHold.url {
        held.open()
        cancels.waitBlocking()
        // The thread that cancels has the lock, and waits for this queue, or it is over.
        while isRunning(canceller) { poll(nil, 0, 1) }
      }
      let task = Task { _ = try? await session.data(from: url) }
      try await held.wait("the queue")
      Thread.detachNewThread {
        Thread.current.name = canceller
        cancels.open()
        task.cancel()
        cancelled.open()
      }
      // Another Foundation lets the cancel return.
      return (try? await cancelled.wait(seconds: 3)) == nil
    }
  }

  private static let canceller = "canceller"

  /// Whether a thread of this process has this name and does not wait for anything (proc_pid_stat(5)).
  private static func isRunning(_ name: String) -> Bool {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.contains { thread in
      let text = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8)
      return text?.contains("(\(name)) S") == false && text?.contains("(\(name))") == true
    }
  }

  @Test(.serialized, arguments: Holder.allCases)
  func `is said to be held by a class of the app's or by a cancel, and since when`(holder: Holder)
    async throws
  {
    try ExitValues.give("HeldQueueTests", holder)
    await #expect(processExitsWith: .exitCode(7)) {
      let holder = try ExitValues.take("HeldQueueTests", Holder.self)
      // Nothing but the request that waits has the queue looked at.
      let tap = try Tap.start(.test { ($0.servesLog, $0.outbound.waitingLimit) = (true, .seconds(1)) })
      let over = Gate()
      let origin = try Origin { $0.path == "/hangs" ? [.hold(over)] : [.response()] }
      let session = tap.session(client: "c", configuration: .ephemeral)
      let hanging = session.dataTask(with: origin.url("/hangs")) { _, _, _ in }
      hanging.resume()
      try await Poll.until("a request that waits") { tap.activeRequests().map(\.wait) == [.response] }
      let (before, release) = (Instant.now, Gate())
      let isHeld = try await Self.hold(holder, until: release)
      if isHeld {
        Thread.detachNewThread { session.dataTask(with: origin.url("/meanwhile")) { _, _, _ in }.resume() }
        try await Self.expectHeld(tap, since: before)
      }
      if isHeld && holder == .cancel { exit(7) }
      release.open()
      try await Poll.until("a queue that runs") { try await Self.heldSeconds(tap) == 0 }
      hanging.cancel()
      try await Poll.until("the ends") { tap.activeRequests().isEmpty }
      try await Poll.until("a page that says no more") { try await Self.heldOnPage(tap) == 0 }
      exit(7)
    }
  }

  /// Blocks that wait in Dispatch's pool take its threads, and not that of the queue. More queues of the
  /// app's own than Dispatch has threads, each with a block that waits, do: then no queue of URLSession's
  /// runs either. In a process of its own, of whose tasks none runs meanwhile.
  @Test
  func `is said to have no thread where the app's queues have taken all, and not where Dispatch's pool has`()
    async
  {
    await #expect(processExitsWith: .exitCode(7)) {
      let tap = try Tap.start(.test(log: .memory) { ($0.endpoint, $0.logging.recentLineLimit) = (nil, 100) })
      let origin = try Origin { _ in [.response()] }
      let session = tap.session(client: "c", configuration: .ephemeral)
      Thread.detachNewThread { Self.takeThreads(tap, origin, session) }
      try await Gate.waitForCancel()
    }
  }

  private static func takeThreads(_ tap: Tap, _ origin: Origin, _ session: URLSession) -> Never {
    func heldSeconds() -> Double { tap.registry.value(of: "session_tap_queue_held_seconds") ?? .infinity }
    let release = DispatchSemaphore(value: 0)
    let isFree = Atomic(false)
    for _ in 0..<300 { DispatchQueue.global().async { release.wait() } }
    DispatchQueue.global().async { isFree.store(true, ordering: .relaxed) }
    _ = heldSeconds()
    for _ in 0..<60 { session.dataTask(with: origin.url()).resume() }
    while origin.requests.count < 60 { poll(nil, 0, 10) }
    // A question has its answer, before the next one.
    var questions = 0
    repeat {
      poll(nil, 0, 1_500)
      questions += 1
      if questions > 10 { exit(2) }
    } while heldSeconds() >= 1
    if isFree.load(ordering: .relaxed) { exit(1) }
    for _ in 0..<300 { release.signal() }

    let queues = (0..<1_000).map { DispatchQueue(label: "app-\($0)") }
    for queue in queues { queue.async { release.wait() } }
    // As long as Dispatch makes a thread for another block, each question has its answer.
    while heldSeconds() < HeldQueue.limit.seconds { poll(nil, 0, 10) }
    Thread.detachNewThread { session.dataTask(with: origin.url()).resume() }
    // A queue in use is reported. That request may not have come to the tap.
    tap.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    while !tap.logText.contains("session_tap.queue.held") { poll(nil, 0, 10) }
    let isSaid = tap.logText.contains("Dispatch has no thread left")
    for _ in queues { release.signal() }
    while heldSeconds() >= 1 || origin.requests.count < 61 { poll(nil, 0, 10) }
    exit(isSaid ? 7 : 1)
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
