import Foundation
import SessionTap
import TestSupport
import Testing

/// Exactly one end: whatever happens to many requests, each is recorded once, and nothing stays behind. Each run
/// has a process of its own, so that its memory can be compared with that of a run without the tap.
@Suite struct RandomRunTests {
  static let requests = 20_000
  static let seed: UInt64 = 20_261_121

  @Test func `every request ends once and leaves nothing behind`() async throws {
    let stock = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      try await RandomRunReport.stock(requests: RandomRunTests.requests, seed: RandomRunTests.seed).write()
    }
    let tapped = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      try await RandomRunReport.tapped(requests: RandomRunTests.requests, seed: RandomRunTests.seed).write()
    }
    let reference = try #require(
      RandomRunReport(output: stock?.standardOutputContent ?? []), Self.lastWords(stock))
    let report = try #require(
      RandomRunReport(output: tapped?.standardOutputContent ?? []), Self.lastWords(tapped))

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
    let growth = Double(report.residentBytes) / Double(reference.residentBytes)
    let memory =
      "\(report.residentBytes >> 10) KiB are resident, and \(reference.residentBytes >> 10) without the tap"
    #expect(growth < 1.1, "\(memory)")
    print("\(started) random requests: \(memory)")
  }

  @Test func `at every scrape what has started has ended or is active`() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      try await RandomRunReport.tapped(requests: 5_000, seed: RandomRunTests.seed, isScraped: true).write()
    }
    let report = try #require(
      RandomRunReport(output: result?.standardOutputContent ?? []), Self.lastWords(result))
    #expect(report.scrapes > 10)
    #expect(report.unbalancedScrapes == 0)
    #expect(report.started == 5_000 - Double(report.cancelledBeforeResume))
    #expect(report.active == 0)
    print("\(report.scrapes) scrapes during \(report.started) requests")
  }

  /// What a process wrote before it ended.
  private static func lastWords(_ result: ExitTest.Result?) -> Comment {
    Comment(rawValue: String(decoding: (result?.standardErrorContent ?? []).prefix(4_000), as: UTF8.self))
  }
}
