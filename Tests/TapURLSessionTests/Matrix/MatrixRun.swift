import TapURLSession
import TestSupport

/// One request against a server of its own: what the app saw, and what the server saw.
struct MatrixRun: Sendable {
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
