import Foundation
import TapCore
import TapURLSession
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// URLProtocols of the app's own go on behind the tap, and their requests are recorded.
@Suite struct AppProtocolTests {
  @Test(
    arguments: [
      ("http://mock.test/", RequestEnd.response(statusCode: 203)),
      ("http://fails.test/", .failure(.other, statusCode: nil)),
      ("http://plain.test/", .response(statusCode: nil)),
    ], Style.allCases)
  func `each works as without the tap`(target: (url: String, end: RequestEnd), style: Style) async throws {
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let original = URLSessionConfiguration.ephemeral
    original.protocolClasses =
      [MockProtocol.self, FailingProtocol.self, PlainProtocol.self] + (original.protocolClasses ?? [])
    let url = try #require(URL(string: target.url))
    let exchange = Exchange(kind: .data, style: style, request: URLRequest(url: url))
    let stock = try await exchange.run(original)
    let tapped = try await exchange.run(tap.configuration(from: original, client: "test"))
    #expect(tapped == stock)
    tap.flush()
    #expect(observer.ended.map(\.end) == [target.end])
  }
}
