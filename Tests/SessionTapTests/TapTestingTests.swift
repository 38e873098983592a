import SessionTap
import TapTesting
import TestSupport

@Suite struct TapTestingTests {
  @Test(arguments: 0..<4)
  func `it tells what its own sessions did, beside other tests`(number: Int) async throws {
    let origin = try Origin { _ in [.response("404 Not Found")] }
    let tap = try Tap.testing { $0.outbound.pathTemplates = ["/users/{id}"] }
    #expect(tap.address == nil)
    let session = tap.session(client: "users", configuration: .ephemeral)
    for _ in 0...number { _ = try await session.data(from: origin.url("/users/42")) }
    let ended = tap.recordedRequests()
    expectEqual(ended.map(\.request.client), Array(repeating: "users", count: number + 1))
    expectEqual(ended.map(\.errorType), Array(repeating: "404", count: number + 1))
    let count = tap.registry.value(
      of: "http_client_request_duration_seconds_count",
      labels: ["client": "users", "url_template": "/users/{id}"])
    expectEqual(count, Double(number + 1))
    #expect(!tap.registry.text.contains("process_"))
    #expect(await tap.flush())
    // A test beside it may hold the queue of all sessions, which has a line of its own.
    #expect(try tap.logLines.count { $0.row("event") == "http.client.request" } == number + 1)
  }

  @Test func `it keeps the newest requests, in the order of their ends, and another tap none`() throws {
    let (tap, other) = (try Tap.testing(), try Tap(.test()))
    for number in 0..<25_000 { tap.inbound.begin(method: "GET", path: "/\(number)").end(statusCode: 200) }
    #expect(tap.recordedRequests().map(\.request.url) == (15_000..<25_000).map { "/\($0)" })
    other.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    #expect(other.recordedRequests().isEmpty)
  }

  @Test(arguments: [true, false], [(nil, 1...1_000), (2, 999...1_000)] as [(Int?, ClosedRange<Int>)])
  func `a test and a log that is served keep the newest thousand lines, or as many as the app says`(
    isServed: Bool, row: (limit: Int?, kept: ClosedRange<Int>)
  ) async throws {
    func change(_ configuration: inout Tap.Configuration) {
      configuration.servesLog = isServed
      if let limit = row.limit { configuration.logging.recentLineLimit = limit }
    }
    let tap = isServed ? try Tap(.test(change)) : try Tap.testing(change)
    for number in 0...1_000 { tap.log(.info, "\(number)") }
    #expect(await tap.flush(within: .seconds(100)))
    #expect(try tap.logLines.map { $0.row("message") } == row.kept.map { "\($0)" })
  }

  @Test(.needs(.program)) func `it reads no environment`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      setenv("OTEL_SERVICE_NAME", "shop", 1)
      setenv("SESSION_TAP_LOGS", "x", 1)
      let tap = try Tap.testing()
      #expect(await tap.flush() && tap.logText.isEmpty && !tap.registry.text.contains("target_info"))
      exit(7)
    }
  }
}
