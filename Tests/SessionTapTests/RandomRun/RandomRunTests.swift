import Foundation
import SessionTap
import TestSupport
import Testing

/// Exactly one end: whatever happens to many requests, each is recorded once, and nothing stays behind. Each run
/// has a process of its own, so that its memory can be compared with that of a run without the tap.
///
/// One after another: each run keeps a core busy, and the tests beside it have deadlines.
@Suite(.serialized) struct RandomRunTests {
  static let requests = 20_000
  static let seed: UInt64 = 20_261_121

  @Test func `every request ends once and leaves nothing behind`() async throws {
    var (reference, report) = try await runs()
    let started = Self.requests - report.cancelledBeforeResume
    #expect(report.cancelledBeforeResume == reference.cancelledBeforeResume)
    #expect(report.observedOnce == started)
    #expect(report.neverObserved == report.cancelledBeforeResume)
    #expect(report.lines == started)
    #expect(report.requestsWithOneLine == started)
    #expect(report.started == Double(started))
    #expect(report.ended == Double(started))
    #expect(report.active == 0)
    #expect(report.liveLoaders == 0)
    // How much freed memory the allocator keeps differs by megabytes from run to run. What stays behind is there in each.
    for _ in 0..<2 where report.residentBytes * 10 >= reference.residentBytes * 11 {
      (reference, report) = try await runs()
    }
    let growth = Double(report.residentBytes) / Double(reference.residentBytes)
    let memory =
      "\(report.residentBytes >> 10) KiB are resident, and \(reference.residentBytes >> 10) without the tap"
    #expect(growth < 1.1, "\(memory)")
    print("\(started) random requests: \(memory)")
  }

  /// The same requests without the tap and with it.
  private func runs() async throws -> (reference: RandomRunReport, report: RandomRunReport) {
    let reference = try await report { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        try await RandomRunReport.stock(requests: RandomRunTests.requests, seed: RandomRunTests.seed)
          .write(to: path)
      }
    }
    let tapped = try await report { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        try await RandomRunReport.tapped(requests: RandomRunTests.requests, seed: RandomRunTests.seed)
          .write(to: path)
      }
    }
    return (reference, tapped)
  }

  /// Without the tap such a process ends in Foundation sooner or later.
  @Test func `a request that is cancelled while it ends has one end too, and the process goes on`()
    async throws
  {
    let report = try await report { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        try await RandomRunReport.tapped(
          requests: 5_000, seed: RandomRunTests.seed, cancelsEnding: true
        )
        .write(to: path)
      }
    }
    let started = 5_000 - report.cancelledBeforeResume
    #expect(report.observedOnce == started)
    #expect(report.lines == started)
    #expect(report.requestsWithOneLine == started)
    #expect(report.ended == Double(started))
    #expect(report.active == 0)
    #expect(report.liveLoaders == 0)
  }

  @Test func `at every scrape what has started has ended or is active`() async throws {
    let report = try await report { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        try await RandomRunReport.tapped(requests: 5_000, seed: RandomRunTests.seed, isScraped: true)
          .write(to: path)
      }
    }
    // How many there is time for is the machine's affair.
    #expect(report.scrapes > 2)
    #expect(report.unbalancedScrapes == 0)
    #expect(report.started == 5_000 - Double(report.cancelledBeforeResume))
    #expect(report.active == 0)
    print("\(report.scrapes) scrapes during \(report.started) requests")
  }

  /// The report of a run in a process of its own. It comes in a file: to observe what a process writes takes a thread
  /// of Swift's pool as long as it runs, and the tests that run meanwhile need them.
  private func report(_ run: (_ path: String) async -> Void) async throws -> RandomRunReport {
    let path = TapTests.temporaryFile()
    defer { try? FileManager.default.removeItem(atPath: path) }
    await run(path)
    return try JSONDecoder().decode(RandomRunReport.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }
}
