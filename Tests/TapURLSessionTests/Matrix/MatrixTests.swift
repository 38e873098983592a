import Foundation
import Synchronization
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Every kind of task, in every style, on every way that a request can go: stock and tapped. The app and the
/// server cannot tell them apart, and the tap records one request with one end.
@Suite struct MatrixTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var scenario: Scenario
    var kind: Kind
    var style: Style
    var sessionMaker = TappedSession.fromConfiguration
    /// Whether the session has a delegate beside the completion that the app waits for.
    var sessionHasDelegate = false
    /// Whether there is an account of libcurl's, as there is not on another toolchain.
    var hasAccount = true
    var testDescription: String {
      "\(scenario.name): \(kind.rawValue), \(style.rawValue), \(sessionMaker.rawValue)"
        + (sessionHasDelegate ? " with a delegate" : "") + (hasAccount ? "" : ", without an account")
    }
  }

  static func cases(_ scenarios: [Scenario]) -> [Case] {
    scenarios.flatMap { scenario in
      Kind.allCases.flatMap { kind in
        Style.allCases
          .filter { kind.exists(in: $0) && scenario.applies(kind, $0) }
          .flatMap { style in
            [true, false].filter { $0 || style == .sessionDelegate }
              .map { Case(scenario: scenario, kind: kind, style: style, hasAccount: $0) }
          }
      }
    }
  }

  /// Every kind of task in every style, for every way to a session, with a delegate and without.
  static func sessions(_ scenarios: [Scenario]) -> [Case] {
    scenarios.flatMap { scenario in
      Kind.allCases.flatMap { kind in
        Style.allCases.filter { kind.exists(in: $0) }.flatMap { style in
          TappedSession.allCases.flatMap { maker in
            (style == .sessionDelegate ? [false] : [false, true]).map {
              Case(scenario: scenario, kind: kind, style: style, sessionMaker: maker, sessionHasDelegate: $0)
            }
          }
        }
      }
    }
  }

  @Test(arguments: cases(Scenario.responses))
  func `whole responses`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: cases(Scenario.redirects))
  func `redirects`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: cases(Scenario.failures))
  func `failures`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: cases(Scenario.interruptions))
  func `interruptions`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: cases(Scenario.challenges))
  func `challenges`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: cases(Scenario.oddServers))
  func `servers that answer wrongly`(_ testCase: Case) async throws { try await Self.compare(testCase) }

  @Test(arguments: sessions([.whole, .redirected, .refused]))
  func `every way of making a session`(_ testCase: Case) async throws {
    let tap = try await Self.compare(testCase)
    _ = try await Poll.until("the request's object to go") {
      tap.requestCount == 0 ? true : nil
    }
  }

  /// Each case has servers of its own, with threads: hundreds at once would starve each other past their deadlines.
  private static let turns = AsyncSemaphore(count: 16)

  /// - Returns: The tap that has observed the request.
  @discardableResult
  static func compare(_ testCase: Case) async throws -> URLSessionTap {
    try await turns.run { try await compareAlone(testCase) }
  }

  private static func compareAlone(_ testCase: Case) async throws -> URLSessionTap {
    let observer = RecordingObserver()
    var configuration = URLSessionTap.Configuration()
    configuration.readsAccount = testCase.hasAccount
    let tap = URLSessionTap(observers: [observer], configuration: configuration)
    let stock = try await MatrixRun(testCase, tap: nil)
    let tapped = try await MatrixRun(testCase, tap: tap)
    #expect(tapped.transcript == stock.transcript)
    #expect(tapped.wire == stock.wire)

    // Not to wait for the tap's own turn, a thousand times over.
    tap.flush()
    try await observer.waitForEnds(1)
    #expect(observer.started.count == 1)
    #expect(observer.ended.map { testCase.comparable($0.end) } == [testCase.comparable(testCase.expectedEnd)])
    let observation = try #require(observer.ended.first)
    #expect(observation.request.client == "test")
    #expect(observation.duration > .zero)
    #expect(observation.isFromCache == testCase.scenario.isFromCache)
    if let sizes = ExpectedSizes(testCase, run: tapped) {
      #expect(observation.requestBodySize == sizes.request)
      #expect(observation.responseBodySize == sizes.response)
    }
    #expect(observer.ended.count == 1)
    return tap
  }
}
