import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import TapCore
import TapHummingbird
import Testing

/// What `http_route` is of a request to Hummingbird.
@Suite struct ServedRouteTests {
  private struct Discard: ResponseBodyWriter {
    mutating func write(_ buffer: ByteBuffer) async throws {}
    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
  }

  /// Hummingbird says `NotFound` where there is none.
  @Test(arguments: [("/users/42", "/users/{id}"), ("/nowhere", nil)] as [(String, String?)])
  func `a request has the route that was matched, or none`(path: String, route: String?) async throws {
    let registry = Registry()
    let recorder = try RequestRecorder(registry: registry)
    let router = Router()
    router.add(middleware: TapMiddleware(inbound: recorder.inbound))
    router.get("users/{id}") { _, _ in "known" }
    let request = Request(
      head: HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path),
      body: RequestBody(buffer: ByteBuffer()))
    let context = BasicRequestContext(
      source: ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: Logger(label: "test")))
    let response = try await router.buildResponder().respond(to: request, context: context)
    try await response.body.write(Discard())
    let text = String(decoding: registry.exposition(in: .text).bytes, as: UTF8.self)
    #expect(text.contains("http_server_request_duration_seconds_count{"))
    #expect(text.contains("http_route=") == (route != nil))
    if let route { #expect(text.contains("http_route=\"\(route)\"")) }
  }
}
