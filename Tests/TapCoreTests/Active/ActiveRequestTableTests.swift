import TestSupport

@testable import TapCore

/// The table as a value: what it lists, and when it reports what waits.
struct ActiveRequestTableTests {
  private let recorder: RequestRecorder
  private let series: RequestSeries

  init() throws {
    recorder = try RequestRecorder(registry: Registry())
    series = try RequestMetrics(.outbound).begin(RequestDescription(method: "GET"))
  }

  private func makeRecord() -> RequestRecord {
    RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
  }

  private func at(_ seconds: Int) -> Instant { Instant(nanoseconds: Int64(seconds) * 1_000_000_000) }

  /// When a table reports, if it is asked each second until the end.
  private func reports(
    of table: inout ActiveRequestTable, until end: Int, _ seconds: (ActiveRequestTable.Reports) -> [Int]
  ) -> [[Int]] {
    (0...end).map { seconds(table.takeReports(at: at($0))) }
  }

  @Test func `a wait is reported at the limit and at each doubling of it`() {
    let (record, exempt) = (makeRecord(), makeRecord())
    var table = ActiveRequestTable(limit: RequestConfiguration().waitingLimit)
    table.begin(exempt, at: at(0), in: series, isReported: false)
    table.begin(record, at: at(3), in: series, isReported: true)
    // It is looked at first, so that the report says what is so then.
    let preparation = Instant(nanoseconds: 32_900_000_000)
    #expect(table.nextReport == preparation)
    let prepared = table.takeReports(at: preparation)
    #expect(prepared.soon.map { ObjectIdentifier($0) } == [ObjectIdentifier(record)])
    #expect(prepared.requests.isEmpty)
    #expect(table.nextReport == at(33))
    let times = (0...300).filter {
      let reports = table.takeReports(at: at($0))
      #expect(reports.soon.isEmpty)
      return !reports.requests.isEmpty
    }
    #expect(times == [33, 63, 123, 243])
    #expect(table.nextReport == Instant(nanoseconds: 482_900_000_000))
    // Doublings that nobody looked at are one report.
    #expect(table.takeReports(at: at(3 + 960)).requests.map(\.start) == [at(3)])
    #expect(table.nextReport > at(3 + 1_919) && table.nextReport < at(3 + 1_920))
    table.remove(record)
    #expect(table.takeReports(at: at(10_000)).requests.isEmpty)
    #expect(table.nextReport == .never)
  }

  @Test(arguments: [nil, .zero, .seconds(-1), .nanoseconds(Int64.max)] as [Duration?])
  func `limits at their ends`(limit: Duration?) {
    let record = makeRecord()
    var table = ActiveRequestTable(limit: limit)
    table.begin(record, at: at(1), in: series, isReported: true)
    let isReported = limit.map { $0 <= .zero } ?? false
    #expect(table.takeReports(at: at(2)).requests.count == (isReported ? 1 : 0))
    #expect(table.takeReports(at: at(2)).requests.isEmpty)
    #expect(table.nextReport > at(2))
    let overdue = table.overdue(atMost: 1, at: at(3))
    #expect((overdue.count, overdue.unstartedCount) == (isReported ? 1 : 0, 0))
  }

  @Test(
    arguments: [(100_000, 1_050_000_000), (2_000, 1_001_000_000), (1, 1_000_500_000)] as [(Int, Int64)])
  func `of a short wait, of 1 ms at least, the second half is left for the look before its report`(
    limit: Int, look: Int64
  ) {
    let record = makeRecord()
    var table = ActiveRequestTable(limit: .microseconds(limit))
    table.begin(record, at: at(1), in: series, isReported: true)
    #expect(table.nextReport == Instant(nanoseconds: look))
  }

  /// In a process of its own, whose memory no other test changes.
  @Test(.needs(.program)) func `many requests at a time leave no memory behind, nor do questions`() async {
    await #expect(processExitsWith: .success) {
      let recorder = try RequestRecorder(registry: Registry())
      func use(_ count: Int, begin: Bool) {
        let records = (0..<count).map { _ in
          RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
        }
        if begin { for record in records { record.begin() } }
        recorder.drain()
        for record in records { record.end(.cancelled) }
        recorder.drain()
      }
      for begin in [false, true] {
        use(1_000, begin: begin)
        let before = MemoryInUse.bytes
        use(25_000, begin: begin)
        #expect(before > 0 && MemoryInUse.bytes < before + 1_000_000)
      }
      let growth = try MemoryInUse.growth(of: 10_000) { _ = recorder.activeRequests() }
      #expect(growth < 300_000)
    }
  }

  @Test func `a request that is released without an end asks for no turn`() {
    var record: RequestRecord? = makeRecord()
    recorder.drain()
    var table = ActiveRequestTable(limit: .seconds(30))
    if let record { table.begin(record, at: at(0), in: series, isReported: true) }
    record = nil
    #expect(recorder.requestCount == 0)
    #expect(table.takeReports(at: at(30)).requests.isEmpty)
    // Or its thread would never sleep again.
    #expect(table.nextReport == .never)
    #expect(table.isEmpty)
  }

  @Test func `requests that are released without an end keep none from its report`() {
    let kept = (0..<8).map { _ in makeRecord() }
    var released = (0..<9).map { _ in makeRecord() }
    recorder.drain()
    var table = ActiveRequestTable(limit: .seconds(30))
    for record in kept + released.dropLast() {
      table.begin(record, at: at(0), in: series, isReported: true)
    }
    table.add(released[8], at: at(0))
    released = []
    #expect(recorder.requestCount == kept.count)
    // Whatever their order is.
    #expect(table.takeReports(at: at(30)).requests.count == kept.count)
    // Nor does what has not started wait for a scrape to leave.
    #expect(table.waitingForStart == nil)
    withExtendedLifetime(kept) {}
  }

  @Test func `requests that have not started wait for no report, and leave once they are released`() {
    var records = (0..<3).map { _ in makeRecord() }
    // From then on nothing else has them.
    recorder.drain()
    var table = ActiveRequestTable(limit: .seconds(30))
    for (place, record) in records.enumerated() { table.add(record, at: at(place)) }
    #expect(table.nextReport == .never)
    #expect(table.overdue(atMost: 9, at: Instant(nanoseconds: 4_999_999_999)).count == 0)
    do {
      let overdue = table.overdue(atMost: 2, at: at(5))
      #expect((overdue.count, overdue.unstartedCount) == (3, 3))
      #expect(overdue.oldest.map(\.start) == [at(0), at(1)])
    }
    // No later than a request that has been started.
    var strict = ActiveRequestTable(limit: .seconds(2))
    strict.add(records[0], at: at(0))
    #expect(strict.overdue(atMost: 9, at: at(1)).count == 0)
    #expect(strict.overdue(atMost: 9, at: at(2)).count == 1)
    strict.begin(records[1], at: at(1), in: series, isReported: true)
    #expect(strict.overdue(atMost: 1, at: at(3)).oldest.map(\.start) == [at(0)])
    table.begin(records[0], at: at(25), in: series, isReported: false)
    #expect(table.waitingForStart?.count == 2)
    #expect(table.waitingForStart?.oldest == at(1))
    records.removeSubrange(1...)
    table.removeReleased()
    #expect(table.waitingForStart == nil)
    #expect(table.list(since: at(100)).map(\.start) == [at(25)])
  }

  /// A scrape removes them, and there may be none.
  @Test func `what is released without a start is overdue no longer, and waits for none`() throws {
    let (metrics, others) = (try RequestMetrics(.outbound), try RequestMetrics(.outbound))
    var record: RequestRecord? = makeRecord()
    recorder.drain()
    if let record { for metrics in [metrics, others] { metrics.list(record, at: at(0)) } }
    #expect(metrics.overdue(atMost: 9, at: at(60)).count == 1)
    #expect(others.waitingForStart?.count == 1)
    record = nil
    #expect(recorder.requestCount == 0)
    #expect(metrics.overdue(atMost: 9, at: at(60)).count == 0)
    #expect(others.waitingForStart == nil)
  }

  @Test func `the table keeps nothing alive`() {
    var table = ActiveRequestTable(limit: .seconds(30))
    weak var released: RequestRecord?
    do {
      let record = makeRecord()
      released = record
      recorder.drain()
      table.add(record, at: at(0))
      #expect(table.list(since: at(0)).map { ObjectIdentifier($0.record) } == [ObjectIdentifier(record)])
    }
    #expect(released == nil)
    #expect(table.list(since: at(0)).isEmpty)
    table.removeReleased()
    #expect(table.isEmpty)
  }

  @Test(arguments: 0..<16)
  func `the table agrees with a model`(seed: Int) {
    var generator = SeededGenerator(seed: seed)
    var table = ActiveRequestTable(limit: .seconds(7))
    // What each record waits since, and whether it has begun.
    var model: [(record: RequestRecord, start: Int, hasBegun: Bool)] = []
    for second in 0..<400 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let record = makeRecord()
        table.add(record, at: at(second))
        model.append((record, second, false))
      case 1:
        let record = makeRecord()
        table.begin(record, at: at(second), in: series, isReported: true)
        model.append((record, second, true))
      case 2:
        if let place = model.indices.randomElement(using: &generator), !model[place].hasBegun {
          table.begin(model[place].record, at: at(second), in: series, isReported: true)
          model.append((model.remove(at: place).record, second, true))
        }
      default:
        if let place = model.indices.randomElement(using: &generator) {
          table.remove(model.remove(at: place).record)
        }
      }
      let due = model.filter {
        let age = second - $0.start
        return $0.hasBegun && age > 0 && age % 7 == 0 && (age / 7).nonzeroBitCount == 1
      }
      #expect(table.takeReports(at: at(second)).requests.map(\.start) == due.map { at($0.start) }.sorted())
      let expected = model.sorted { $0.start < $1.start }.map { ObjectIdentifier($0.record) }
      let listed = table.list(since: at(second)).sorted { $0.start < $1.start }
      #expect(listed.map { ObjectIdentifier($0.record) } == expected)
      #expect(table.waitingForStart?.count ?? 0 == model.count { !$0.hasBegun })
    }
    for request in model { table.remove(request.record) }
    #expect(table.isEmpty)
    #expect(table.nextReport == .never)
  }
}
