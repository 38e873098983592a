import Foundation
import SessionTap
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Glibc)
  import Glibc
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
        #"{"direction":"outbound","client":"search","server_address":"search.example.com","server_port":"8443","#
          + #""http_request_method":"GET"}"#
      ))
    #expect(text.contains(#"{"direction":"inbound","http_request_method":"GET","http_route":"/users/{id}"}"#))
    #expect(try await get("/", tap).0.contains(#"data-history="yes""#))
    // It adds nothing to the metrics.
    #expect(!String(decoding: tap.registry.exposition().bytes, as: UTF8.self).contains("history"))
    await tap.shutdown()
  }

  /// That is when a person wants to see it. In a process of its own, since other tests need the threads.
  @Test func `the page is served while the app blocks all of Swift's threads`() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      var configuration = TapTests.configuration()
      configuration.servesLog = true
      configuration.endpoint?.limits.answerDeadline = .seconds(5)
      let tap = try Tap.start(configuration)
      tap.log(.info, "here")
      #expect(tap.requestLog?.flush() == true)
      let port = tap.address?.port ?? 0
      for _ in 0..<64 { Task { Gate().waitBlocking() } }
      let contents = [
        ("/", "<html"), ("/page/history", #"{"slot_s""#), ("/logs", "here"), ("/metrics", "# TYPE"),
      ]
      for (path, content) in contents {
        // On this thread: there is no other.
        let answer = try BlockingClient.get(path, port: port)
        #expect(
          answer.hasPrefix("HTTP/1.1 200 ") && answer.contains(content), "\(path): \(answer.prefix(500))")
      }
      exit(0)
    }
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

/// Asks on the thread that calls.
private enum BlockingClient {
  static func get(_ path: String, port: Int) throws -> String {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
      answer += buffer[..<count]
    }
    return String(decoding: answer, as: UTF8.self)
  }
}
