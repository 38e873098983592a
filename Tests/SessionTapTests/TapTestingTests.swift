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
    let requests = tap.recordedRequests()
    #expect(requests.count == number + 1)
    #expect(
      requests.allSatisfy { $0.statusCode == 404 && $0.errorType == "404" && $0.request.client == "users" })
    let name = "http_client_request_duration_seconds_count"
    #expect(tap.registry.value(of: name, labels: ["client": "users"]) == Double(number + 1))
    #expect(tap.registry.value(of: name, labels: ["url_template": "/users/{id}"]) == Double(number + 1))
    #expect(tap.registry.value(of: name, labels: ["client": "other"]) == nil)
    #expect(!tap.registry.text.contains("process_"))
    #expect(await tap.flush())
    let log = try #require(tap.requestLog)
    // A test beside it may hold the queue of all sessions, which has a line of its own.
    let ends = log.recentText.split(separator: "\n").count { $0.contains(#""event":"http.client.request","#) }
    #expect(ends == number + 1)
  }

  @Test func `it keeps the newest requests, in the order of their ends, and another tap none`() throws {
    let (tap, other) = (try Tap.testing(), try Tap(.test()))
    for number in 0..<25_000 { tap.inbound.begin(method: "GET", path: "/\(number)").end(statusCode: 200) }
    #expect(tap.recordedRequests().map(\.request.url) == (15_000..<25_000).map { "/\($0)" })
    other.inbound.begin(method: "GET", path: "/").end(statusCode: 200)
    #expect(other.recordedRequests().isEmpty)
  }

  @Test func `it keeps the newest thousand lines`() throws {
    let log = try #require(Tap.testing().requestLog)
    for number in 0...1_000 { log.log(.info, "\(number)") }
    // Or as many as the app says.
    let few = try #require(Tap.testing { $0.logging.recentLineLimit = 2 }.requestLog)
    for number in 0..<3 { few.log(.info, "\(number)") }
    for (log, kept) in [(log, 1...1_000), (few, 1...2)] {
      #expect(log.flush(within: .seconds(100)))
      let lines = String(decoding: log.recent(), as: UTF8.self)
      #expect(lines.matches(of: /"message":"([^"]*)"/).map { String($0.1) } == kept.map { "\($0)" })
    }
  }

  @Test(.needs(.program)) func `it reads no environment`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      setenv("OTEL_SERVICE_NAME", "shop", 1)
      setenv("SESSION_TAP_LOGS", "x", 1)
      let tap = try Tap.testing()
      #expect(!tap.registry.text.contains("target_info"))
      #expect(tap.requestLog?.flush() == true)
      #expect(tap.requestLog?.recent().isEmpty == true)
      exit(7)
    }
  }
}
