import TestSupport

@testable import TapURLSession

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
    /// Whether libcurl's info can be read, as it cannot on another toolchain.
    var hasInfo = true
    var testDescription: String {
      "\(scenario.name): \(kind.rawValue), \(style.rawValue), \(sessionMaker.rawValue)"
        + (sessionHasDelegate ? " with a delegate" : "") + (hasInfo ? "" : ", without libcurl's info")
    }
  }

  /// Every kind of task in every style.
  static func cases(_ scenario: Scenario) -> [Case] {
    Kind.allCases.flatMap { kind in
      Style.allCases.filter { kind.exists(in: $0) && scenario.applies(kind, $0) }.flatMap { style in
        [true, false].filter { $0 || style == .sessionDelegate }
          .map { Case(scenario: scenario, kind: kind, style: style, hasInfo: $0) }
      }
    }
  }

  /// Every kind of task in every style, for every way to a session, with a delegate and without.
  static func sessions(_ scenario: Scenario) -> [Case] {
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

  @Test(
    arguments: [
      Scenario.responses, Scenario.redirects, Scenario.failures, Scenario.interruptions, Scenario.challenges,
      Scenario.oddServers,
    ].joined())
  func `app and server cannot tell a tapped request from a stock one`(_ scenario: Scenario) async {
    await Self.compare(Self.cases(scenario))
  }

  @Test(arguments: [Scenario.whole, .redirected, .refused])
  func `every way of making one`(_ scenario: Scenario) async { await Self.compare(Self.sessions(scenario)) }

  /// Each case has servers of its own, with threads: hundreds at once would starve each other past their
  /// deadlines.
  private static let turns = AsyncSemaphore(count: 8)

  /// Compares in one test what mostly waits: a test that waits keeps others from their turn.
  ///
  /// - Parameter cases: Of one scenario: at home, one in five of them is compared.
  private static func compare(_ cases: [Case]) async {
    let step = Extent.of(5, extensive: 1)
    let first = cases.first.map { $0.scenario.name.utf8.count % min(step, cases.count) } ?? 0
    await withTaskGroup { group in
      for index in stride(from: first, to: cases.count, by: step) {
        let testCase = cases[index]
        group.addTask {
          await turns.run {
            do { try await compare(testCase) } catch { Issue.record(error, "\(testCase.testDescription)") }
          }
        }
      }
    }
  }

  private static func compare(_ testCase: Case) async throws {
    let name = Comment(rawValue: testCase.testDescription)
    let observer = RecordingObserver()
    let configuration = with(URLSessionTap.Configuration()) { if !testCase.hasInfo { $0.curl = nil } }
    let tap = URLSessionTap(observers: [observer], configuration: configuration)
    async let stockRun = MatrixRun(testCase, tap: nil)
    let tapped = try await MatrixRun(testCase, tap: tap)
    let stock = try await stockRun
    #expect(tapped.transcript == stock.transcript, name)
    #expect(tapped.wire == stock.wire, name)

    // Not to wait for the tap's own turn, a thousand times over.
    tap.flush()
    try await observer.waitForEnds(1)
    #expect(observer.started.count == 1, name)
    #expect(
      observer.ended.map { testCase.comparable($0.end) } == [testCase.comparable(testCase.expectedEnd)], name)
    let observation = try #require(observer.ended.first)
    #expect(observation.request.client == "test", name)
    #expect(observation.duration > .zero, name)
    #expect(observation.isFromCache == testCase.scenario.isFromCache, name)
    if let sizes = ExpectedSizes(testCase, run: tapped) {
      #expect(observation.requestBodySize == sizes.request, name)
      #expect(observation.responseBodySize == sizes.response, name)
    }
    #expect(Witness.libcurl.contradictions == 0 && Witness.kernel.contradictions == 0, name)
    try await Poll.until("the request's object to go") { tap.recorder.requestCount == 0 }
    #expect(observer.ended.count == 1, name)
  }
}
