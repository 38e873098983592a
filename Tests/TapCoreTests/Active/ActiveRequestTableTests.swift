import TestSupport

@testable import TapCore

/// The table as a value: what it lists, and when it reports what waits.
struct ActiveRequestTableTests {
  private let recorder: RequestRecorder
  private let series: RequestSeries

  init() throws {
    recorder = try RequestRecorder(registry: Registry())
    series = try RequestMetrics(.outbound).withLock { $0.begin(RequestDescription(method: "GET")) }
  }

  private func makeRecord() -> RequestRecord {
    RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
  }

  private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

  private func ids(_ requests: [ActiveRequestTable.Request]) -> [ObjectIdentifier] {
    requests.map { ObjectIdentifier($0.record) }
  }

  @Test func `a wait is reported at the limit and at each doubling of it`() {
    let record = makeRecord()
    var table = ActiveRequestTable(limit: RequestConfiguration().waitingLimit)
    table.begin(record, at: at(3), in: series)
    #expect(table.takeReports(at: at(2)).next == at(32.9))
    // It is looked at first, so that the report says what is so then.
    let first = table.takeReports(at: at(32.9))
    #expect(ids(first.soon) == [ObjectIdentifier(record)] && first.due.isEmpty && first.next == at(33))
    let reports = (33...300).map { ($0, table.takeReports(at: at(Double($0)))) }
    #expect(reports.filter { !$0.1.due.isEmpty }.map(\.0) == [33, 63, 123, 243])
    #expect(reports.allSatisfy { $0.1.soon.isEmpty } && reports.last?.1.next == at(482.9))
    // Doublings that nobody looked at are one report.
    let late = table.takeReports(at: at(3 + 960))
    #expect(ids(late.due) == [ObjectIdentifier(record)] && late.next == at(3 + 1_919.9))
    table.remove(record, since: at(3))
    #expect(table.takeReports(at: at(10_000)).next == .never && table.isEmpty)
  }

  @Test(
    arguments: [
      (nil, .never, 0), (.nanoseconds(Int64.max), .never, 0), (.seconds(30), 30.9, 0),
      (.milliseconds(100), 1.05, 1),
      (.milliseconds(2), 1.001, 1), (.microseconds(1), 1.0005, 1), (.zero, 1.0005, 1),
      (.seconds(-1), 1.0005, 1),
    ] as [(Duration?, Look, Int)])
  func `of a short wait, of 1 ms at least, the second half is left for the look before its report`(
    limit: Duration?, look: Look, reports: Int
  ) {
    let record = makeRecord()
    var table = ActiveRequestTable(limit: limit)
    table.begin(record, at: at(1), in: series)
    #expect(table.takeReports(at: at(1)).next == look.instant)
    #expect((0..<2).map { _ in table.takeReports(at: at(2)).due.count } == [reports, 0])
    #expect(table.takeReports(at: at(2)).next > at(2) && table.waiting(at: at(3)).requests.count == reports)
  }

  /// An instant in seconds.
  enum Look: ExpressibleByFloatLiteral {
    case never, at(Double)

    init(floatLiteral value: Double) { self = .at(value) }

    var instant: Instant {
      if case .at(let seconds) = self {
        Instant(nanoseconds: Int64((seconds * 1e9).rounded()))
      } else {
        .never
      }
    }
  }

  /// In a process of its own, whose memory no other test changes.
  @Test(.needs(.program)) func `many requests at a time leave no memory behind, nor do questions`() async {
    await #expect(processExitsWith: .success) {
      let recorder = try RequestRecorder(registry: Registry())
      func use(_ count: Int, begin: Bool, releases: Bool = false) {
        let records = (0..<count).map { _ in
          RequestRecord(RequestDescription(method: "GET"), recorder: recorder)
        }
        if begin { for record in records { record.begin() } }
        recorder.drain()
        if !releases { for record in records { record.end(.cancelled) } }
        recorder.drain()
      }
      for (begin, releases) in [(false, false), (true, false), (false, true)] {
        use(1_000, begin: begin, releases: releases)
        let before = MemoryInUse.bytes
        for _ in 0..<Extent.of(2, extensive: 10) { use(2_500, begin: begin, releases: releases) }
        #expect(before > 0 && MemoryInUse.bytes < before + 1_000_000)
      }
      let growth = try MemoryInUse.growth(of: Extent.of(1_000, extensive: 10_000)) {
        _ = recorder.activeRequests()
      }
      #expect(growth < 300_000)
    }
  }

  @Test func `what is released is not kept, keeps none from its report, and asks for no turn at once`() {
    let kept = (0..<8).map { _ in makeRecord() }
    var released = (0..<9).map { _ in makeRecord() }
    // From then on nothing else has them.
    recorder.drain()
    var table = ActiveRequestTable(limit: .seconds(30))
    for record in kept + released.dropLast() {
      table.begin(record, at: at(0), in: series)
    }
    table.add(released[8], at: at(0))
    #expect(table.unstarted.count == 1 && table.list(since: at(0)).count == 17)
    released = []
    #expect(recorder.requestCount == kept.count)
    let reports = table.takeReports(at: at(30))
    #expect(ids(reports.due) == kept.map { ObjectIdentifier($0) } && reports.next == at(59.9))
    #expect(table.unstarted.isEmpty && table.list(since: at(0)).count == kept.count)
    for record in kept { table.remove(record, since: at(0)) }
    table.removeGone()
    #expect(table.isEmpty)
  }

  @Test
  func `unstarted requests are not reported, and wait once the oldest has for five seconds`() {
    let records = (0..<3).map { _ in makeRecord() }
    var table = ActiveRequestTable(limit: .seconds(30))
    for (second, record) in zip([0.0, 1, 2], records) { table.add(record, at: at(second)) }
    func waiting(_ table: ActiveRequestTable, at seconds: Double) -> [Int] {
      let waiting = table.waiting(at: at(seconds))
      return [waiting.requests.count, waiting.unstartedCount]
    }
    #expect(table.takeReports(at: at(1_000)).due.isEmpty)
    #expect([4.999, 5, 29].map { waiting(table, at: $0) } == [[0, 0], [3, 3], [3, 3]])
    var strict = ActiveRequestTable(limit: .seconds(2))
    strict.add(records[0], at: at(0))
    strict.begin(records[1], at: at(1), in: series)
    #expect([1, 4, 5].map { waiting(strict, at: $0) } == [[0, 0], [1, 0], [2, 1]])
    table.remove(records[0], since: at(0))
    table.begin(records[0], at: at(25), in: series)
    #expect(table.unstarted.map(\.start) == [at(1), at(2)] && waiting(table, at: 50) == [2, 2])
    #expect([0, 1, 24, 25].map { table.list(since: at($0)).map(\.start).count } == [0, 1, 2, 3])
  }

  @Test(arguments: 0..<Extent.of(4, extensive: 16))
  func `the table agrees with a model`(seed: Int) {
    var generator = SeededGenerator(seed: seed)
    var table = ActiveRequestTable(limit: .seconds(7), exemptions: ["stream"])
    // What each record waits since, and whether it has begun.
    var model: [(record: RequestRecord, start: Int, hasBegun: Bool, isExempt: Bool)] = []
    func begin(_ record: RequestRecord, at second: Int) {
      table.begin(record, at: at(Double(second)), in: series)
      model.append((record, second, true, record.description.client == "stream"))
    }
    func makeRecord() -> RequestRecord {
      let isExempt = Int.random(in: 0..<4, using: &generator) == 0
      return RequestRecord(
        RequestDescription(client: isExempt ? "stream" : "c", method: "GET"), recorder: recorder)
    }
    func leave(_ index: Int) -> RequestRecord {
      let (record, start, _, _) = model.remove(at: index)
      table.remove(record, since: at(Double(start)))
      return record
    }
    for second in 0..<400 {
      for _ in 0..<Int.random(in: 0..<3, using: &generator) {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
          let record = makeRecord()
          table.add(record, at: at(Double(second)))
          model.append((record, second, false, false))
        // Not each is delivered in the order of the begins.
        case 1: begin(makeRecord(), at: max(0, second - Int.random(in: 0..<3, using: &generator)))
        case 2:
          if let index = model.indices.randomElement(using: &generator), !model[index].hasBegun {
            begin(leave(index), at: second)
          }
        default: if let index = model.indices.randomElement(using: &generator) { _ = leave(index) }
        }
      }
      let now = at(Double(second))
      func starts(_ isChosen: (Int, Bool, Bool) -> Bool) -> [Instant] {
        model.filter { isChosen(second - $0.start, $0.hasBegun, $0.isExempt) }
          .map { at(Double($0.start)) }.sorted()
      }
      let reports = table.takeReports(at: now)
      let due = starts { age, hasBegun, isExempt in
        hasBegun && !isExempt && age > 0 && age % 7 == 0 && (age / 7).nonzeroBitCount == 1
      }
      let unstarted = starts { _, hasBegun, _ in !hasBegun }
      let isHeld = unstarted.first.map { $0.advanced(by: .seconds(5)) <= now } ?? false
      let waiting = starts { age, hasBegun, isExempt in hasBegun ? !isExempt && age >= 7 : isHeld }
      #expect(
        [reports.due, table.list(since: now), table.unstarted, table.waiting(at: now).requests]
          .map { $0.map(\.start) } == [due, starts { _, _, _ in true }, unstarted, waiting])
      #expect(Set(ids(table.list(since: now))) == Set(model.map { ObjectIdentifier($0.record) }))
      #expect(reports.next > now)
    }
    while !model.isEmpty { _ = leave(0) }
    #expect(table.isEmpty)
  }
}
