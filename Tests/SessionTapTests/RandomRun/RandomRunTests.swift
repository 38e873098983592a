import Foundation
import SessionTap
import TestSupport
import Testing

/// Exactly one end: whatever happens to many requests, each is recorded once, and nothing stays behind. Each run
/// has a process of its own, so that its memory can be compared with that of a run without the tap.
///
/// `Tests/Scripts/run-random-requests` makes more of them, and compares the memory too.
@Suite(.needs(.processor)) struct RandomRunTests {
  static let requests = ProcessInfo.processInfo.environment["RANDOM_REQUESTS"].flatMap { Int($0) } ?? 2_000
  /// Of those that are cancelled as they end, and of those beside scrapes.
  private static let fewer = min(requests / 2, 5_000)
  static let seed: UInt64 = 20_261_121
  /// The memory of fewer requests is that of the process.
  private static let comparesMemory = requests >= 20_000

  @Test func `every request ends once and leaves nothing behind`() async throws {
    let report = try await tapped(Self.requests)
    let started = Self.requests - report.cancelledBeforeResume
    #expect(report.lines == started)
    #expect(report.requestsWithOneLine == started)
    #expect(report.started == Double(started))
    #expect(report.ended == Double(started))
    #expect(report.active == 0)
    #expect(report.liveLoaders == 0)
    guard Self.comparesMemory else { return }
    var excess = try await self.excess(of: report)
    // How much freed memory the allocator keeps differs by megabytes from run to run. What stays behind is there in each.
    for _ in 0..<2 where excess > 0 { excess = try await self.excess(of: tapped(Self.requests)) }
    #expect(excess <= 0)
  }

  /// Without the tap such a process ends in Foundation sooner or later.
  @Test func `a request that is cancelled while it ends has one end too, and the process goes on`()
    async throws
  {
    let report = try await tapped(Self.fewer, cancelsEnding: true)
    let started = Self.fewer - report.cancelledBeforeResume
    #expect(report.lines == started)
    #expect(report.requestsWithOneLine == started)
    #expect(report.ended == Double(started))
    #expect(report.active == 0)
    #expect(report.liveLoaders == 0)
  }

  @Test func `at every scrape what has started has ended or is active`() async throws {
    let report = try await tapped(Self.fewer, isScraped: true)
    // How many there is time for is the machine's affair.
    #expect(report.scrapes > 2)
    #expect(report.unbalancedScrapes == 0)
    #expect(report.started == Double(Self.fewer - report.cancelledBeforeResume))
    #expect(report.active == 0)
    print("\(report.scrapes) scrapes during \(report.started) requests")
  }

  /// By how many bytes a tapped run leaves more behind than it may: a tenth more than without the tap, and 8 MiB. The tap and its
  /// log take 7 to 10 MB themselves, with 20,000 requests as with 60,000.
  private func excess(of tapped: RandomRunReport) async throws -> Int {
    let stock = try await report { path in
      await #expect(processExitsWith: .success) { [path = path as String] in
        try await RandomRunReport.stock(requests: RandomRunTests.requests, seed: RandomRunTests.seed)
          .write(to: path)
      }
    }
    #expect(tapped.cancelledBeforeResume == stock.cancelledBeforeResume)
    print("\(tapped.residentBytes >> 10) KiB are resident, and \(stock.residentBytes >> 10) without the tap")
    return tapped.residentBytes - stock.residentBytes * 11 / 10 - (8 << 20)
  }

  private func tapped(
    _ requests: Int, isScraped: Bool = false, cancelsEnding: Bool = false
  ) async throws -> RandomRunReport {
    try await report { path in
      await #expect(processExitsWith: .success) {
        [
          path = path as String, requests = requests as Int, isScraped = isScraped as Bool,
          cancelsEnding = cancelsEnding as Bool
        ] in
        try await RandomRunReport.tapped(
          requests: requests, seed: RandomRunTests.seed, isScraped: isScraped, cancelsEnding: cancelsEnding
        ).write(to: path)
      }
    }
  }

  /// The report of a run in a process of its own. It comes in a file: to observe what a process writes takes a thread
  /// of Swift's pool as long as it runs, and the tests that run meanwhile need them.
  private func report(_ run: (_ path: String) async -> Void) async throws -> RandomRunReport {
    let folder = try TemporaryFolder()
    let path = folder("report")
    await run(path)
    return try JSONDecoder().decode(RandomRunReport.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }
}
