import AsyncHTTPClient
import Foundation
import SessionTap
import TapAsyncHTTPClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A service that is asked by a URLSession and by AsyncHTTPClient: with one `/metrics`, one log and one trace.
struct BothClients {
  let session: URLSession
  let client: TapHTTPClient

  /// The same of each of them, on a line of its own.
  func get(_ url: URL, urlTemplate: String) async throws -> String {
    var request = URLRequest(url: url)
    request.tapContext = TapRequestContext(urlTemplate: urlTemplate)
    request.setTrace()
    let (first, _) = try await session.data(for: request)

    let other = HTTPClientRequest(url: url.absoluteString)
    let response = try await client.execute(other, timeout: .seconds(30), urlTemplate: urlTemplate)
    let second = try await response.body.collect(upTo: 1 << 20)
    return String(decoding: first, as: UTF8.self) + "\n" + String(buffer: second)
  }
}
