import TestSupport

@testable import TapURLSession

/// Every kind of task, in every style, on every way that a request can go: stock and tapped. The app and the
/// server cannot tell them apart, and the tap records one request with one end.
struct MatrixTests {
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

  private struct Released: Sendable { weak let recorder: RequestRecorder? }

  private static func compare(_ testCase: Case) async throws {
    let name = Comment(rawValue: testCase.testDescription)
    let observer = RecordingObserver()
    // Which the request's object keeps.
    let released = Released(recorder: try await observe(testCase, observer, name))
    try await Poll.until("the request's object to go") { released.recorder == nil }
    expectEqual([observer.started.count, observer.ended.count], [1, 1], name)
  }

  private static func observe(
    _ testCase: Case, _ observer: RecordingObserver, _ name: Comment
  ) async throws -> RequestRecorder {
    let configuration = with(URLSessionTap.Configuration()) { if !testCase.hasInfo { $0.curl = nil } }
    let tap = URLSessionTap(observers: [observer], configuration: configuration)
    defer { tap.stop() }
    async let stockRun = MatrixRun(testCase, tap: nil)
    let tapped = try await MatrixRun(testCase, tap: tap)
    let stock = try await stockRun
    expectEqual(tapped.transcript, stock.transcript, name)
    expectEqual(tapped.wire, stock.wire, name)

    // Not to wait for the tap's own turn, a thousand times over.
    tap.flush()
    try await observer.waitForEnds(1)
    let ends = observer.ended.map { testCase.comparable($0.end) }
    expectEqual(ends, [testCase.comparable(testCase.expectedEnd)], name)
    let observation = try #require(observer.ended.first)
    expectEqual(observation.request.client, "test", name)
    expectEqual(observation.isFromCache, testCase.scenario.isFromCache, name)
    #expect(observation.duration > .zero, name)
    if !testCase.hasInfo {
      #expect(observation.timings.isEmpty && observation.openedConnections == nil, name)
      #expect(observation.protocolVersion == nil, name)
    }
    // Another loader got the second leg after a challenge.
    if testCase.scenario.behaviour.credential != nil { #expect(observation.timeToFirstByte == nil, name) }
    if let sizes = ExpectedSizes(testCase, run: tapped) {
      let found = [observation.requestBodySize, observation.responseBodySize]
      expectEqual(found, [sizes.request, sizes.response], name)
    }
    #expect(Witness.libcurl.contradictions == 0 && Witness.kernel.contradictions == 0, name)
    return tap.recorder
  }
}

/// One request against a server of its own: what the app saw, and what the server saw.
private struct MatrixRun: Sendable {
  let transcript: Transcript
  let wire: [OriginRequest]

  /// - Parameter tap: Observes the request. `nil` for a stock run.
  init(_ testCase: MatrixTests.Case, tap: URLSessionTap?) async throws {
    let scenario = testCase.scenario
    let gates = Scenario.Gates()
    let count = Atomic(0)
    let origin = try Origin(greeting: scenario.greeting) { request in
      scenario.script?(count.add(1, ordering: .relaxed).oldValue, request, gates) ?? [.close]
    }
    let closed = try ClosedPort()
    defer { gates.goOn.open() }
    let configuration = URLSessionConfiguration.ephemeral
    scenario.configure(configuration, origin.port)
    let port = scenario.script == nil ? closed.port : origin.port
    let url = scenario.url?(port) ?? "http://127.0.0.1:\(port)/"
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = scenario.method ?? (testCase.kind.sendsBody ? "POST" : "GET")
    var call = AppCall(kind: testCase.kind, style: testCase.style, request: request)
    call.sessionHasDelegate = testCase.sessionHasDelegate
    (call.behaviour, call.interruption) = (scenario.behaviour, scenario.interruption)
    (call.waitsForData, call.waitsForChallenge) = (scenario.waitsForData, scenario.waitsForChallenge)
    (call.isDue, call.goOn) = (gates.arrived, gates.goOn)
    if let tap { call.makeSession = testCase.sessionMaker.make(tap) }
    var transcript = try await call.run(configuration)
    // The app may have its answer before the server has read the request.
    if !scenario.greeting.isEmpty { try await Poll.until("the request") { !origin.requests.isEmpty } }
    // The two runs have two ports.
    transcript.headers["Host"] = nil
    self.transcript = transcript
    wire = origin.requests.map { with($0) { $0.headers["host"] = nil } }
  }
}

/// The body sizes that the tap should know of a run: exact, or absent where they are unknown.
private struct ExpectedSizes {
  let request: Int64?
  let response: Int64?

  /// `nil` for a transfer that was cut short: how far it came is a matter of luck. `TransferInfoTests` look
  /// at those.
  init?(_ testCase: MatrixTests.Case, run: MatrixRun) {
    let scenario = testCase.scenario
    guard case .response = scenario.end else { return nil }
    // The second leg after a challenge is served by a loader that is not the tap's.
    let isAccounted = testCase.hasInfo && !scenario.asksForCredentials && !scenario.isFromCache
    // What Foundation counts of a stream goes on over a second leg.
    let isResent = run.wire.contains { $0.path == "/end" }
    let isUnknown = testCase.kind == .uploadStream && (!isAccounted || isResent) && scenario.method != "HEAD"
    request = isUnknown ? nil : Int64(run.wire.first?.body.count ?? 0)
    // Stock writes the file of a download with a task delegate twice over.
    let isDoubled = testCase.kind == .download && testCase.style == .taskDelegate
    // Transfer-Encoding overrides Content-Length (RFC 9112, section 6.3).
    let declaresSize =
      run.transcript.headers["Transfer-Encoding"] == nil
      && run.transcript.headers["Content-Length"].flatMap { Int64($0) } != nil
    let hasNoContent = [204, 304].contains(run.transcript.status)
    // A loader gives what is for a completion handler to its client, in one piece.
    let isLoaded = testCase.kind != .download && testCase.style != .sessionDelegate
    if let size = scenario.contentSize {
      response = isAccounted || declaresSize ? Int64(size) : nil
    } else if isAccounted || declaresSize || hasNoContent || isLoaded {
      response = Int64(run.transcript.body.count / (isDoubled ? 2 : 1))
    } else {
      response = nil
    }
  }
}
