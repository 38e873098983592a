import TestSupport

@testable import TapCore

/// What is said of requests that wait, at times that a test makes up.
struct UnderWayReporterTests {
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
    let reporter = UnderWayReporter([outbound, inbound], [])
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
    let reporter = UnderWayReporter(metrics, [observer])
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
    let reporter = UnderWayReporter([metrics], [])
    reporter.watch(QueueProbe { _ in })
    #expect(reporter.reportWaits(isUsed: true, at: now) == .never)
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
    let request = RequestUnderWay(
      request: RequestDescription(method: "GET", url: "http://a/"), start: .now, duration: .seconds(9),
      progress: progress, at: now)
    #expect(request.idleTime == .seconds(idle))
    #expect("\(request)" == "GET http://a/ is under way, 9.0 s")
  }
}
