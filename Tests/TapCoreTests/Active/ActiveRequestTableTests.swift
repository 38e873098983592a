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
    table.add(record, at: at(3), in: series)
    // Doublings that nobody looked at are one report.
    let rows: [(now: Double, looks: Int, reports: Int, next: Double)] = [
      (2, 0, 0, 32.9), (32.9, 1, 0, 33), (32.95, 0, 0, 33), (33, 0, 1, 62.9), (963, 0, 1, 1_922.9),
      // Threads that come in another order than they have read the clock in.
      (962, 0, 0, 962.9), (964, 0, 0, 1_922.9),
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
      table.add(record, at: at(1), in: series)
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
      table.add(record, at: at(0), in: series)
    }
    table.add(released[8], at: at(0))
    #expect(table.unstarted.count == 1 && table.list(since: at(0)).count == 17)
    released = []
    let reports = table.takeReports(at: at(30))
    #expect(ids(reports.due) == kept.map { ObjectIdentifier($0) } && reports.next == at(59.9))
    #expect(table.unstarted.isEmpty && table.list(since: at(0)).count == kept.count)
    for record in kept { table.remove(record, since: at(0)) }
    table.removeGone()
    #expect(table.isEmpty)
  }
}
