import TestSupport

@testable import TapCore

/// What is said of requests that wait, at times that a test makes up.
struct WaitReporterTests {
  private let recorder: RequestRecorder
  /// So late that it does not matter how long a test takes.
  private let now = Instant.now.advanced(by: .seconds(3_600))

  init() throws { recorder = try RequestRecorder(registry: Registry()) }

  /// Knows nothing before it is looked at.
  private final class Source: RequestProgressSource {
    private let isLookedAt = Atomic(false)

    var progress: RequestProgress {
      RequestProgress(wait: isLookedAt.load(ordering: .relaxed) ? .redirect : nil)
    }

    func look(then done: @escaping @Sendable () -> Void) {
      isLookedAt.store(true, ordering: .relaxed)
      done()
    }
  }

  /// Knows nothing until a look has come to its end, on another thread.
  private final class SlowSource: RequestProgressSource {
    private let isKnown = Atomic(false)

    var progress: RequestProgress {
      RequestProgress(wait: isKnown.load(ordering: .acquiring) ? .redirect : nil)
    }

    func look(then done: @escaping @Sendable () -> Void) {
      isKnown.store(false, ordering: .relaxed)
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.01) {
        self.isKnown.store(true, ordering: .releasing)
        done()
      }
    }
  }

  /// Keeps what it is told as the process ends.
  private final class Ends: RequestConsumer {
    private let all = Mutex<[String]>([])
    var text: [String] { all.withLock { $0 } }

    func requestEnded(_ observation: RequestObservation) {}
    func requestIsUnfinished(_ request: RequestSnapshot) { all.withLock { $0.append(request.request.url) } }
    func requestsAreUnfinished(_ count: Int) { all.withLock { $0.append("\(count) more") } }
    func batchEnded() { all.withLock { $0.append("end") } }
  }

  private func before(_ seconds: Int) -> Instant {
    Instant(nanoseconds: now.nanoseconds - Int64(seconds) * 1_000_000_000)
  }

  private func makeRecord(template: String? = nil) -> RequestRecord {
    RequestRecord(
      RequestDescription(method: "GET", urlTemplate: template), recorder: recorder, progress: Source())
  }

  private func begin(_ record: RequestRecord, at start: Instant, in metrics: RequestMetrics) {
    record.begin()
    _ = metrics.begin(record.description, at: start, listing: record)
  }

  @Test func `what is overdue in both directions is counted, and the oldest are looked at and listed`()
    throws
  {
    func metrics(_ direction: RequestDirection, limit: Int) throws -> RequestMetrics {
      let configuration = with(RequestConfiguration()) {
        ($0.waitingLimit, $0.waitingExemptions) = (.seconds(limit), ["/stream"])
      }
      return try RequestMetrics(direction, configuration)
    }
    let (outbound, inbound) = (try metrics(.outbound, limit: 10), try metrics(.inbound, limit: 20))
    let reporter = WaitReporter([outbound, inbound], [])
    let records = (0..<5).map { _ in makeRecord() }
    for (record, age) in zip(records, [9, 10, 30]) { begin(record, at: before(age), in: outbound) }
    for (record, age) in zip(records.dropFirst(3), [19, 20]) { begin(record, at: before(age), in: inbound) }
    let (exempt, unstarted) = (makeRecord(template: "/stream"), makeRecord())
    begin(exempt, at: before(50), in: outbound)
    outbound.list(unstarted, at: before(5))
    // What is asked then is not answered.
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.heldTime(at: before(5)) == .zero)

    for count in [0, 2, 9] {
      let overdue = reporter.overdue(atMost: count, at: now)
      #expect(overdue.limits == [.seconds(10), .seconds(20)])
      #expect(overdue.heldTime == .seconds(5))
      #expect((overdue.count, overdue.unstartedCount) == (4, 1))
      let ages = [30, 20, 10, 5].prefix(count)
      #expect(overdue.oldest.map(\.start) == ages.map { before($0) })
      #expect(overdue.oldest.map(\.request.duration) == ages.map { Duration.seconds($0) })
      let waits: [RequestWait?] = [.redirect, .redirect, .redirect, .start]
      #expect(overdue.oldest.map(\.request.wait) == Array(waits.prefix(count)))
    }
    let earlier = reporter.overdue(atMost: 9, at: Instant(nanoseconds: now.nanoseconds - 1))
    #expect((earlier.count, earlier.unstartedCount) == (1, 0))
    #expect(earlier.heldTime == nil)
    withExtendedLifetime((records, exempt, unstarted)) {}
  }

  @Test func `a wait that is reported has the queue asked, and each is due in time`() throws {
    let observer = RecordingObserver()
    let metrics = [try RequestMetrics(.outbound), try RequestMetrics(.inbound)]
    let reporter = WaitReporter(metrics, [observer])
    let questions = Atomic(0)
    reporter.watch(QueueProbe { _ in questions.add(1, ordering: .relaxed) })
    let record = makeRecord()
    begin(record, at: now, in: metrics[0])
    let look = now.advanced(by: .milliseconds(29_900))
    #expect(reporter.reportWaits(isUsed: false, at: now) == look)
    #expect(questions.load(ordering: .relaxed) == 0)
    let report = now.advanced(by: .seconds(30))
    #expect(reporter.reportWaits(isUsed: false, at: report) == report.advanced(by: .seconds(5)))
    #expect(observer.waits.map(\.duration) == [.seconds(30)])
    #expect(questions.load(ordering: .relaxed) == 1)
    withExtendedLifetime(record) {}
  }

  @Test func `where no wait is reported, neither is a held queue`() throws {
    let metrics = try RequestMetrics(.outbound, with(RequestConfiguration()) { $0.waitingLimit = nil })
    // The limit of what is served is none of that queue's.
    let reporter = WaitReporter([metrics, try RequestMetrics(.inbound)], [])
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.reportWaits(isUsed: true, at: now) == .never)
  }

  @Test func `each consumer is told of what waits, also behind a request that has just ended`() throws {
    let observers = [RecordingObserver(), RecordingObserver()]
    let metrics = try RequestMetrics(.outbound)
    let reporter = WaitReporter([metrics], observers)
    let records = (0..<3).map { _ in makeRecord() }
    for (record, age) in zip(records, [40, 35, 33]) { begin(record, at: before(age), in: metrics) }
    records[0].end(.cancelled)
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.heldTime(at: before(7)) == .zero)
    // The held queue is reported at each doubling.
    #expect(reporter.reportWaits(isUsed: false, at: now) == now.advanced(by: .seconds(7)))
    for observer in observers {
      #expect(observer.waits.map(\.duration) == [.seconds(35), .seconds(33)])
      #expect(observer.heldQueues.map(\.unstarted) == [0])
      #expect(observer.heldQueues.map(\.duration) == [.seconds(7)])
    }
    withExtendedLifetime(records) {}
  }

  @Test func `each consumer is told once of what is unfinished, and then that this is all`() throws {
    let consumers = [Ends(), Ends()]
    let metrics = try RequestMetrics(.outbound)
    let reporter = WaitReporter([metrics], consumers)
    let record = RequestRecord(RequestDescription(method: "GET", url: "http://a/"), recorder: recorder)
    begin(record, at: .now, in: metrics)
    for _ in 0..<2 { reporter.reportUnfinished() }
    #expect(consumers.map(\.text) == [["http://a/", "end"], ["http://a/", "end"]])
    withExtendedLifetime(record) {}
  }

  @Test func `a question gets the oldest of both directions, and how many more are as old`() throws {
    let metrics = [try RequestMetrics(.outbound), try RequestMetrics(.inbound)]
    let reporter = WaitReporter(metrics, [])
    let start = Instant.now
    let ages = [10, 40, 30, 20].map { Duration.seconds($0 * 60) }
    let records = ages.map { _ in makeRecord() }
    for (place, record) in records.enumerated() {
      let since = Instant(nanoseconds: start.nanoseconds - ages[place].nanoseconds)
      begin(record, at: since, in: metrics[place % 2])
    }
    #expect(reporter.requests().oldest.map { Int($0.duration.seconds / 600) } == [4, 3, 2, 1])
    let (oldest, more) = reporter.requests(olderThan: .seconds(20 * 60), limit: 1)
    #expect(oldest.map { Int($0.duration.seconds / 600) } == [4])
    #expect(more == 2)
    withExtendedLifetime(records) {}
  }

  @Test func `a question waits for the looks at what it lists`() throws {
    let metrics = try RequestMetrics(.outbound)
    let reporter = WaitReporter([metrics], [])
    let record = RequestRecord(
      RequestDescription(method: "GET"), recorder: recorder, progress: SlowSource())
    begin(record, at: .now, in: metrics)
    // On a machine that is busy some take longer than the question waits.
    let isListed = (0..<20).contains { _ in reporter.requests().oldest.map(\.wait) == [.redirect] }
    let isOverdue = (0..<20).contains { _ in
      reporter.overdue(atMost: 1, at: now).oldest.map(\.request.wait) == [.redirect]
    }
    #expect(isListed && isOverdue)
    withExtendedLifetime(record) {}
  }

  @Test func `of many 100 are looked at for their reports, and the oldest 1,000 for a question`() throws {
    let observer = RecordingObserver()
    let metrics = [try RequestMetrics(.outbound), try RequestMetrics(.outbound)]
    let records = (0..<1_102).map { _ in makeRecord() }
    let start = Instant.now
    for record in records.prefix(101) { begin(record, at: start, in: metrics[0]) }
    for (place, record) in records.dropFirst(101).enumerated() {
      begin(record, at: Instant(nanoseconds: start.nanoseconds - Int64(place)), in: metrics[1])
    }
    let reporter = WaitReporter([metrics[0]], [observer])
    for time in [29_900, 30_000] {
      _ = reporter.reportWaits(isUsed: false, at: start.advanced(by: .milliseconds(time)))
    }
    #expect(observer.waits.count == 101)
    #expect(observer.waits.count { $0.wait == .redirect } == 100)
    let listed = WaitReporter([metrics[1]], []).requests().oldest
    #expect(listed.count == 1_001)
    #expect(listed.dropLast().allSatisfy { $0.wait == .redirect })
    #expect(try #require(listed.last).wait == nil)
    withExtendedLifetime(records) {}
  }

  @Test func `what a request waits for has these words in lines`() {
    let words = RequestWait.allCases.map(\.rawValue)
    #expect(words == ["start", "response", "body", "credentials", "redirect", "handler", "client"])
  }

  @Test(arguments: [(-2, 2), (1, 0)])
  func `a request is idle since something last passed, and never for less than no time`(
    last: Int, idle: Int
  ) {
    let progress = RequestProgress(lastActivity: before(-last))
    let request = RequestSnapshot(
      request: RequestDescription(method: "GET", url: "http://a/"), start: .now, duration: .seconds(9),
      progress: progress, at: now)
    #expect(request.idleTime == .seconds(idle))
    #expect("\(request)" == "GET http://a/ is under way, 9.0 s")
  }
}
