import TestSupport

@testable import TapCore

/// What is said of requests that have not ended, at times that a test makes up.
struct WaitReporterTests {
  private let recorder: RequestRecorder
  private let metrics: [RequestMetrics]
  /// The tables keep no request alive.
  private let kept = Watched<[RequestRecord]>([])
  /// So late that it does not matter how long a test takes.
  private let now = Instant.now.advanced(by: .seconds(3_600))

  init() throws {
    recorder = try RequestRecorder(registry: Registry())
    metrics = [try RequestMetrics(.outbound), try RequestMetrics(.inbound)]
  }

  /// Knows nothing before it has been looked at: at once, on another thread, or never.
  private final class Source: RequestProgressSource {
    enum Queue { case here, elsewhere, held }

    private let queue: Queue
    private let known: RequestProgress?
    private let onLook: @Sendable () -> Void
    private let lookCount = Atomic(0)

    init(
      _ queue: Queue = .here, known: RequestProgress? = nil, onLook: @escaping @Sendable () -> Void = {}
    ) {
      (self.queue, self.known, self.onLook) = (queue, known, onLook)
    }

    var isLookedAt: Bool { lookCount.load(ordering: .acquiring) > 0 }

    var progress: RequestProgress {
      known ?? RequestProgress(wait: isLookedAt ? .redirect : nil)
    }

    func look(then done: @escaping @Sendable () -> Void) {
      @Sendable func end() {
        onLook()
        lookCount.add(1, ordering: .releasing)
        done()
      }
      switch queue {
      case .here: end()
      case .elsewhere: DispatchQueue.global().async { end() }
      case .held: break
      }
    }
  }

  /// Keeps what it is told as the process ends.
  private final class Ends: RequestConsumer {
    private let all = Mutex<[String]>([])
    var text: [String] { all.withLock { $0 } }

    func requestEnded(_ observation: RequestObservation) {}
    func requestIsUnfinished(_ request: RequestSnapshot) {
      all.withLock { $0.append("\(request.request.url) \(request.wait?.rawValue ?? "")") }
    }
    func requestsAreUnfinished(_ count: Int) { all.withLock { $0.append("\(count) more") } }
    func batchEnded() { all.withLock { $0.append("end") } }
  }

  private func before(_ seconds: Int) -> Instant {
    Instant(nanoseconds: now.nanoseconds - Int64(seconds) * 1_000_000_000)
  }

  private func makeRecord(_ source: Source = Source(), template: String? = nil) -> RequestRecord {
    makeRecord(RequestDescription(method: "GET", url: "http://a/", urlTemplate: template), source)
  }

  private func makeRecord(_ description: RequestDescription, _ source: Source) -> RequestRecord {
    let record = RequestRecord(description, recorder: recorder, progress: source)
    kept.change { $0.append(record) }
    return record
  }

  private func begin(_ record: RequestRecord, at start: Instant, in metrics: RequestMetrics) {
    record.begin(at: start)
    metrics.withLock { $0.active.add(record, at: start, in: $0.begin(record.description)) }
  }

  /// Begins a request for each of these ages, in seconds.
  @discardableResult
  private func begin(ages: [Int], in metrics: RequestMetrics) -> [RequestRecord] {
    ages.map { age in
      let record = makeRecord()
      begin(record, at: before(age), in: metrics)
      return record
    }
  }

  @Test func `what waits in both directions is counted, and the oldest are looked at and shown`() throws {
    func metrics(_ direction: RequestDirection, limit: Int) throws -> RequestMetrics {
      let configuration = with(RequestConfiguration()) {
        ($0.waitingLimit, $0.waitingExemptions) = (.seconds(limit), ["/stream"])
      }
      return try RequestMetrics(direction, configuration)
    }
    let (outbound, inbound) = (try metrics(.outbound, limit: 10), try metrics(.inbound, limit: 20))
    let reporter = WaitReporter([outbound, inbound], [])
    begin(ages: [9, 10, 30], in: outbound)
    begin(ages: [19, 20], in: inbound)
    begin(makeRecord(template: "/stream"), at: before(50), in: outbound)
    outbound.withLock { $0.active.add(makeRecord(), at: before(5)) }
    // What is asked then is not answered.
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.held(at: before(5)) == HeldQueue(duration: .zero))

    let all = [
      "redirect for 30.0 seconds", "redirect for 20.0 seconds", "redirect for 10.0 seconds",
      "start for 5.0 seconds",
    ]
    for count in [0, 2, 9] {
      let waiting = reporter.waiting(atMost: count, at: now)
      expectEqual(waiting.limits, [.seconds(10), .seconds(20)])
      #expect(waiting.held?.duration == .seconds(5))
      expectEqual([waiting.count, waiting.unstartedCount], [4, 1])
      let shown: [String] = waiting.oldest.map { "\($0.wait?.rawValue ?? "-") for \($0.duration)" }
      expectEqual(shown, Array(all.prefix(count)))
      expectEqual(waiting.oldest.map(\.begin), [30, 20, 10, 5].prefix(count).map { before($0) })
    }
    let earlier = reporter.waiting(atMost: 9, at: Instant(nanoseconds: now.nanoseconds - 1))
    #expect((earlier.count, earlier.unstartedCount, earlier.held == nil) == (1, 0, true))
  }

  @Test func `a wait that is reported has the queue asked, and each is due in time`() throws {
    let observer = RecordingObserver()
    let reporter = WaitReporter(metrics, [observer])
    let questions = Atomic(0)
    reporter.watch(QueueProbe { _ in questions.add(1, ordering: .relaxed) })
    begin(ages: [0], in: metrics[0])
    let (look, report) = (now.advanced(by: .milliseconds(29_900)), now.advanced(by: .seconds(30)))
    let found = [now, report].map { time in
      (next: reporter.reportWaits(isUsed: false, at: time), count: questions.load(ordering: .relaxed))
    }
    #expect(found.map(\.next) == [look, report.advanced(by: .seconds(5))] && found.map(\.count) == [0, 1])
    #expect(observer.waits.map(\.duration) == [.seconds(30)])
  }

  @Test func `each consumer is told of what waits, also behind a request that has just ended`() throws {
    let observers = [RecordingObserver(), RecordingObserver()]
    let reporter = WaitReporter(metrics, observers)
    begin(ages: [40, 35, 33], in: metrics[0])[0].end(.cancelled)
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.held(at: before(7)) == HeldQueue(duration: .zero))
    // The held queue is reported at each doubling.
    #expect(reporter.reportWaits(isUsed: false, at: now) == now.advanced(by: .seconds(7)))
    for observer in observers {
      #expect(observer.waits.map(\.duration) == [.seconds(35), .seconds(33)])
      #expect(observer.heldQueues.map(\.unstarted) == [0])
      #expect(observer.heldQueues.map(\.held) == [HeldQueue(duration: .seconds(7))])
    }
  }

  /// Begins a request that is served, or made within a served one.
  @discardableResult
  private func begin(
    within served: RequestRecord? = nil, age: Int, _ source: Source, in metrics: RequestMetrics
  ) -> RequestRecord {
    let description = RequestDescription(
      direction: served == nil ? .inbound : .outbound, client: "c", method: "GET", url: "/",
      traceContext: Self.trace.within(served))
    let record = makeRecord(description, source)
    begin(record, at: before(age), in: metrics)
    return record
  }

  private static let trace = TraceContext.random()

  @Test func `a served request waits for its calls, and is not reported while one moves`() throws {
    func told(_ calls: [(served: Int, age: Int, idle: Int?)], isResponding: Bool = false) throws -> [String] {
      let metrics = [try RequestMetrics(.outbound), try RequestMetrics(.inbound)]
      let observer = RecordingObserver()
      let source = Source(known: RequestProgress(wait: isResponding ? .client : .handler))
      // Both of one trace.
      let served = [40, 20].map { begin(age: $0, source, in: metrics[1]) }
      for call in calls {
        var known = RequestProgress(wait: .response, lastActivity: call.idle.map { before($0) })
        // Two looks have seen no more than the last second.
        known.quietSince = before(1)
        begin(within: served[call.served], age: call.age, Source(known: known), in: metrics[0])
      }
      let reporter = WaitReporter(metrics, [observer])
      _ = reporter.reportWaits(isUsed: false, at: now)
      let waits = reporter.waiting(atMost: 9, at: now).oldest.filter { $0.request.direction == .inbound }
      return [
        observer.waits.filter { $0.request.direction == .inbound }, waits,
      ].map { $0.map { $0.wait?.rawValue ?? "" }.joined() }
    }
    let rows: [([(Int, Int, Int?)], [String])] = [
      ([], ["handler", "handler"]),
      ([(0, 39, 39)], ["request", "request"]), ([(0, 39, nil)], ["request", "request"]),
      // It moves, or is young.
      ([(0, 39, 1)], ["", "request"]), ([(0, 39, 39), (0, 38, 2)], ["", "request"]),
      ([(0, 3, nil)], ["", "request"]),
      // It is another request's.
      ([(1, 39, 39)], ["handler", "handler"]), ([(1, 39, 1)], ["handler", "handler"]),
    ]
    #expect(try rows.map { try told($0.0) } == rows.map(\.1))
    #expect(try told([(0, 39, 1)], isResponding: true) == ["client", "client"])
  }

  @Test func `before a served request is reported, what it waits for is looked at`() throws {
    let metrics = [try RequestMetrics(.outbound), try RequestMetrics(.inbound)]
    let (handler, made, other) = (
      Source(known: RequestProgress(wait: .handler)), Source(), Source()
    )
    let served = [30, 20].map { begin(age: $0, handler, in: metrics[1]) }
    for (served, source) in zip(served, [made, other]) {
      begin(within: served, age: 29, source, in: metrics[0])
    }
    let soon = Instant(nanoseconds: now.nanoseconds - 50_000_000)
    _ = WaitReporter(metrics, []).reportWaits(isUsed: false, at: soon)
    #expect([made.isLookedAt, other.isLookedAt] == [true, false])
  }

  @Test func `each consumer is told once of what is unfinished, and then that this is all`() throws {
    let consumers = [Ends(), Ends()]
    let reporter = WaitReporter(metrics, consumers)
    for _ in 0..<1_003 { begin(makeRecord(), at: .now, in: metrics[0]) }
    for _ in 0..<2 {
      reporter.lookAtOldest()
      reporter.reportUnfinished()
    }
    let told = Array(repeating: "http://a/ redirect", count: 1_000)
    #expect(consumers.allSatisfy { $0.text == told + ["3 more", "end"] })
    #expect(reporter.unfinishedCount == 1_003)
  }

  @Test func `what begins while the oldest are looked at is unfinished too`() throws {
    let (ends, later) = (Ends(), Watched<[ActiveRequest]>([]))
    let recorder = try RequestRecorder(registry: Registry(), consumers: [ends])
    let source = Source(onLook: {
      later.change { $0.append(recorder.inbound.begin(method: "GET", path: "/later")) }
    })
    let request = RequestRecord(.init(method: "GET", url: "http://a/"), recorder: recorder, progress: source)
    request.begin()
    recorder.reportUnfinished()
    #expect(ends.text.filter { $0 != "end" } == ["http://a/ redirect", "/later handler"])
    for request in later.state { request.cancel() }
  }

  @Test func `a question gets the oldest of both directions, and how many more are as old`() {
    let reporter = WaitReporter(metrics, [])
    // Which are older by what it takes to ask.
    for (index, ages) in [[13, 11], [10, 12]].enumerated() {
      begin(ages: ages.map { $0 * 600 }, in: metrics[index])
    }
    func ages(_ requests: [RequestSnapshot]) -> [Int] { requests.map { Int($0.duration.seconds / 600) } }
    #expect(ages(reporter.requests().oldest) == [7, 6, 5, 4])
    for (limit, more) in [(0, 3), (1, 2), (3, 0), (.max, 0), (-1, 3)] {
      let (oldest, others) = reporter.requests(olderThan: .seconds(5 * 600), limit: limit)
      #expect(ages(oldest) == Array([7, 6, 5].prefix(3 - more)) && others == more)
    }
  }

  @Test func `a question waits for the looks at what it shows, and no longer than it may`() {
    for (queue, lookTime, wait) in [
      (Source.Queue.elsewhere, Duration.seconds(60), RequestWait.redirect), (.held, .milliseconds(1), nil),
    ] as [(Source.Queue, Duration, RequestWait?)] {
      let outbound = metrics[queue == .held ? 1 : 0]
      let reporter = WaitReporter([outbound], [], lookTime: lookTime)
      func begin(at start: Instant) {
        for source in [Source(queue), Source()] { self.begin(makeRecord(source), at: start, in: outbound) }
      }
      begin(at: before(3_600))
      let asked = reporter.requests().oldest.map(\.wait)
      begin(at: before(7_200))
      #expect(
        [asked, reporter.waiting(atMost: 2, at: now).oldest.map(\.wait)] == [
          [wait, .redirect], [wait, .redirect],
        ])
    }
  }

  @Test func `of many 100 are looked at for their reports, and the oldest 1,000 for a question`() throws {
    let observer = RecordingObserver()
    for _ in 0..<101 { begin(makeRecord(), at: now, in: metrics[0]) }
    for number in Int64(0)..<1_001 {
      begin(makeRecord(), at: Instant(nanoseconds: before(4_000).nanoseconds - number), in: metrics[1])
    }
    let reporter = WaitReporter([metrics[0]], [observer])
    for time in [29_900, 30_000] {
      _ = reporter.reportWaits(isUsed: false, at: now.advanced(by: .milliseconds(time)))
    }
    let shown = WaitReporter([metrics[1]], []).requests().oldest
    let looks: [RequestWait?] = Array(repeating: .redirect, count: 1_000)
    expectEqual(observer.waits.map(\.wait), looks.prefix(100) + [nil])
    #expect(shown.map(\.wait) == looks + [nil])
  }

  @Test func `a request is idle since something last passed, and says in a test's failure how long it waits`()
  {
    let request = RequestSnapshot(
      RequestDescription(method: "GET", url: "http://a/"), for: .milliseconds(3_249))
    #expect("\(request)" == "GET http://a/ waits for response, 3.2 s")
    for (last, idle) in [(-2, 2), (1, 0)] {
      var progress = RequestProgress(lastActivity: before(-last))
      let request = RequestSnapshot(request.request, for: .seconds(9), progress, at: now)
      #expect(request.idleTime == .seconds(idle) && "\(request)" == "GET http://a/ is active, 9.0 s")
      // Nobody has seen that nothing passed since.
      progress.seen = before(1)
      let later = RequestSnapshot(request.request, for: .seconds(9), progress, at: now)
      #expect(later.idleTime == .seconds(max(0, idle - 1)))
    }
    // A part of the time tells nothing of a wait in which nothing passes of itself.
    let known = RequestWait.allCases.map { wait in
      let progress = with(RequestProgress(wait: wait)) { $0.quietSince = before(3) }
      let request = RequestSnapshot(request.request, for: .seconds(9), progress, at: now)
      return [request.idleTime, request.knownIdleTime]
    }
    #expect(
      known
        == RequestWait.allCases.map {
          [.seconds(3), [.upload, .body, .client].contains($0) ? .seconds(3) : nil]
        })
  }
}
