import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a tap keeps for its page.
@Suite struct ServedHistoryTests {
  private func get(_ path: String, _ tap: Tap) async throws -> (String, HTTPURLResponse) {
    let address = try #require(tap.address)
    let url = try #require(URL(string: "http://\(address)\(path)"))
    let (data, response) = try await URLSession(configuration: .ephemeral).data(from: url)
    return (String(decoding: data, as: UTF8.self), try #require(response as? HTTPURLResponse))
  }

  @Test func `the page has what ended just before, of both directions`() async throws {
    let tap = try Tap.start(TapTests.configuration())
    tap.outbound.begin(client: "search", method: "GET", url: "https://search.example.com:8443/").end(
      statusCode: 200)
    tap.inbound.begin(method: "GET", path: "/users/42").end(statusCode: 200, route: "/users/{id}")
    let (text, response) = try await get("/page/history", tap)
    #expect(response.statusCode == 200)
    #expect(response.value(forHTTPHeaderField: "Cache-Control") == "no-store")
    #expect(response.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(
      text.contains(
        #"{"direction":"outbound","client":"search","server_address":"search.example.com","server_port":"8443"}"#
      ))
    #expect(text.contains(#"{"direction":"inbound","http_request_method":"GET","http_route":"/users/{id}"}"#))
    #expect(try await get("/", tap).0.contains(#"data-history="yes""#))
    // It adds nothing to the metrics.
    #expect(!String(decoding: tap.registry.exposition().bytes, as: UTF8.self).contains("history"))
    await tap.shutdown()
  }

  @Test func `nothing is kept where that is switched off`() async throws {
    var configuration = TapTests.configuration()
    configuration.keepsPageHistory = false
    let tap = try Tap.start(configuration)
    #expect(try await get("/page/history", tap).1.statusCode == 404)
    #expect(try await get("/", tap).0.contains(#"data-history="no""#))
    await tap.shutdown()
  }

  @Test func `it needs the credentials that the page needs`() async throws {
    var configuration = TapTests.configuration()
    let folder = try TemporaryFolder()
    let tokens = folder("requests.jsonl")
    try Data("secret\n".utf8).write(to: URL(fileURLWithPath: tokens))
    configuration.endpoint?.access.bearerTokenFile = tokens
    let tap = try Tap.start(configuration)
    #expect(try await get("/page/history", tap).1.statusCode == 401)
    await tap.shutdown()
  }
}
