import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests that no sane app makes: recorded within the limits, and neither the exposition nor the log breaks.
@Suite struct BadInputTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var name: String
    var label: String
    var change: @Sendable (inout URLRequest) -> Void
    var testDescription: String { name }
  }

  static let cases = [
    Case(name: "an empty host", label: #"error_type="unsupported_url""#) {
      $0.url = URL(string: "http:///path")
    },
    Case(name: "no scheme", label: #"error_type="unsupported_url""#) { $0.url = URL(string: "example/path") },
    Case(name: "a method of 10,000 characters", label: #"http_request_method="_OTHER""#) {
      $0.httpMethod = String(repeating: "X", count: 10_000)
    },
    Case(name: "a host in a header that is no host", label: #"http_response_status_code="200""#) {
      $0.setValue("a\"b\nc\u{1}\u{FFFD}", forHTTPHeaderField: "Host")
    },
    Case(name: "a path of 100,000 characters", label: #"http_response_status_code="200""#) {
      $0.url = URL(string: "/" + String(repeating: "p", count: 100_000), relativeTo: $0.url)?.absoluteURL
    },
    Case(name: "a trace header that is none", label: #"http_response_status_code="200""#) {
      $0.setValue("00-\(String(repeating: "0", count: 32))-x", forHTTPHeaderField: "traceparent")
    },
  ]

  @Test(arguments: cases)
  func `is recorded and breaks nothing`(_ testCase: Case) async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    let folder = try TemporaryFolder()
    let path = folder("requests.jsonl")
    let tap = try Tap.start(TapTests.configuration(log: .file(path)))
    let session = URLSession(
      configuration: tap.sessionConfiguration(from: .ephemeral, client: "bad \"client\"\n"))
    var request = URLRequest(url: origin.url())
    testCase.change(&request)
    _ = try? await session.data(for: request)
    let text = try await TapTests.scrape(tap)
    await tap.shutdown()

    let counts = text.split(separator: "\n").filter {
      $0.hasPrefix("http_client_request_duration_seconds_count{")
    }
    #expect(counts.count == 1)
    #expect(counts.first?.contains(testCase.label) == true)
    #expect(counts.first?.contains(#"client="bad \"client\"\n""#) == true)
    #expect(text.utf8.count < 64 * 1024)
    let log = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(log.count < 16 * 1024)
    #expect(log.filter { $0 == UInt8(ascii: "\n") }.count == 1)
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: log) }
  }
}
