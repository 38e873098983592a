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

  @Test func `a wait is looked at shortly before its limit and each doubling of it, and reported then`() {
    let record = makeRecord()
    var table = ActiveRequestTable(limit: RequestConfiguration().waitingLimit)
    table.begin(record, at: at(3), in: series)
    // Doublings that nobody looked at are one report.
    let rows: [(now: Double, looks: Int, reports: Int, next: Double)] = [
      (2, 0, 0, 32.9), (32.9, 1, 0, 33), (33, 0, 1, 62.9), (963, 0, 1, 1_922.9),
    ]
    let found = rows.map { table.takeReports(at: at($0.now)) }
    #expect(found.map(\.next) == rows.map { at($0.next) })
    #expect(found.map { [$0.soon.count, $0.due.count] } == rows.map { [$0.looks, $0.reports] })
    table.remove(record, since: at(3))
    #expect(table.takeReports(at: at(10_000)).next == .never && table.isEmpty)
  }

  @Test func `of a short wait, of 1 ms at least, the second half is left for the look before its report`() {
    // The limit, when to look at a request that begins at 1, and how many reports of it there are at 2.
    let rows: [(limit: Duration?, look: Double?, reports: Int)] = [
      (nil, nil, 0), (.nanoseconds(Int64.max), nil, 0), (.seconds(30), 30.9, 0),
      (.milliseconds(100), 1.05, 1), (.milliseconds(2), 1.001, 1), (.microseconds(1), 1.0005, 1),
      (.zero, 1.0005, 1), (.seconds(-1), 1.0005, 1),
    ]
    let record = makeRecord()
    let found = rows.map { row in
      var table = ActiveRequestTable(limit: row.limit)
      table.begin(record, at: at(1), in: series)
      let look = table.takeReports(at: at(1)).next
      let reports = (0..<2).map { _ in table.takeReports(at: at(2)) }
      let waiting = table.waiting(at: at(3)).requests
      return (look, counts: reports.map(\.due.count) + [waiting.count], isLater: reports[1].next > at(2))
    }
    #expect(found.map(\.0) == rows.map { $0.look.map(at) ?? .never })
    #expect(found.map(\.counts) == rows.map { [$0.reports, 0, $0.reports] } && found.allSatisfy(\.isLater))
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
      // Shortly before they are reported they are looked at.
      let soon = table.takeReports(at: at(Double(second) - 0.1)).soon
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
      let earlier = starts { age, _, _ in age >= 3 }
      let isHeld = unstarted.first.map { $0.advanced(by: .seconds(5)) <= now } ?? false
      let waiting = starts { age, hasBegun, isExempt in hasBegun ? !isExempt && age >= 7 : isHeld }
      let (all, found) = (table.list(since: now), table.waiting(at: now))
      let lists = [
        soon, reports.due, all, table.list(since: at(Double(second - 3))), table.unstarted, found.requests,
      ]
      #expect(
        lists.map { $0.map(\.start) } == [due, due, starts { _, _, _ in true }, earlier, unstarted, waiting])
      #expect(found.unstartedCount == (isHeld ? unstarted.count : 0) && reports.next > now)
      #expect(Set(ids(all)) == Set(model.map { ObjectIdentifier($0.record) }))
    }
    while !model.isEmpty { _ = leave(0) }
    #expect(table.isEmpty)
  }
}
