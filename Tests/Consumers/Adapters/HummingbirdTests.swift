import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import NIOPosix
import SessionTap
import TapCore
import TapHummingbird
import Testing

/// What a Hummingbird app serves, as its server or a middleware records it.
@Suite struct HummingbirdTests {
  enum Way: CaseIterable { case server, middleware }

  private struct Answer: Hashable {
    let status: Int?
    let route: String?
  }

  /// An error that says nothing about an answer.
  private struct Unforeseen: Error {}

  /// Paths, and with what they are answered.
  private static let answers = [
    "/hello": Answer(status: 200, route: "/hello"),
    "/failing/400": Answer(status: 400, route: "/failing/{status}"),
    "/failing/502": Answer(status: 502, route: "/failing/{status}"),
    "/failing/unforeseen": Answer(status: 500, route: "/failing/{status}"),
    "/nowhere": Answer(status: 404, route: nil),
  ]

  /// Runs an app whose requests are recorded.
  ///
  /// - Returns: The first requests that have ended.
  private func ends(
    _ count: Int, _ way: Way, of test: @escaping @Sendable (any TestClientProtocol) async throws -> Void
  ) async throws -> [RequestObservation] {
    let seen = Seen()
    let tap = try Tap(.observed(by: seen))
    let router = Router()
    if way == .middleware { router.add(middleware: TapMiddleware(tap)) }
    router.get("hello") { _, _ in "Hello" }
    router.get("headers") { _, _ in
      var response = Response(status: .ok)
      if let name = HTTPField.Name("X-Served-By") { response.headers[values: name] = ["a7", "b8"] }
      return response
    }
    router.get("trace") { _, _ in TraceContext.current?.traceparent ?? "" }
    router.get("failing/{status}") { _, context -> Response in
      guard let status = context.parameters.get("status", as: Int.self) else { throw Unforeseen() }
      throw HTTPError(.init(code: status))
    }
    let app: any ApplicationProtocol =
      way == .server ? Application(router: router, observedBy: tap) : Application(router: router)
    try await app.test(.ahc(.http), test)
    var ends: [RequestObservation] = []
    for await end in seen.ends {
      ends.append(end)
      if ends.count == count { break }
    }
    return ends
  }

  @Test(arguments: Way.allCases)
  func `each request is recorded as it is answered, errors too`(way: Way) async throws {
    let (clients, rounds) = (4, 25)
    let ends = try await ends(clients * rounds * Self.answers.count, way) { client in
      try await withThrowingTaskGroup { group in
        for _ in 0..<clients {
          group.addTask {
            for _ in 0..<rounds {
              for (path, answer) in Self.answers {
                let response = try await client.execute(uri: path, method: .get)
                #expect(response.status.code == answer.status)
              }
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let counts = ends.reduce(into: [:]) { counts, end in
      counts[Answer(status: end.statusCode, route: end.request.urlTemplate), default: 0] += 1
    }
    #expect(counts == Dictionary(uniqueKeysWithValues: Self.answers.values.map { ($0, clients * rounds) }))
    let hello = ends.filter { $0.request.url == "/hello" }
    #expect(hello.allSatisfy { $0.responseBodySize == 5 && $0.request.scheme == "http" })
  }

  @Test(arguments: Way.allCases)
  func `a handler runs within the trace of its request, with its caller's flag`(way: Way) async throws {
    let caller = TraceContext.random(isSampled: true)
    var headers = HTTPFields()
    if let name = HTTPField.Name("traceparent") { headers[name] = caller.traceparent }
    let ends = try await ends(1, way) { [headers] client in
      let response = try await client.execute(uri: "/trace", method: .get, headers: headers)
      let trace = try #require(TraceContext(traceparent: String(buffer: response.body)))
      #expect(trace.traceID == caller.traceID)
      #expect(trace.spanID != caller.spanID)
      #expect(trace.isSampled)
    }
    #expect(ends.first?.request.traceContext?.traceID == caller.traceID)
  }

  /// By URLSession, by AsyncHTTPClient, and while a body is written whose length is unknown.
  @Test(arguments: Way.allCases)
  func `a request has the calls of its handler, whatever client makes them, and no other's`(way: Way)
    async throws
  {
    try await withClient(answering: [.response(body: "hello")]) { fixture in
      let url = try #require(URL(string: fixture.server.url("/")))
      let session = fixture.tap.session(client: "session")
      let router = Router()
      if way == .middleware { router.add(middleware: TapMiddleware(fixture.tap)) }
      router.get("calls/{count}") { _, context -> Response in
        for _ in 0..<(try context.parameters.require("count", as: Int.self)) {
          _ = try await text(fixture.get())
        }
        _ = try await session.data(from: url)
        return Response(
          status: .ok,
          body: ResponseBody { writer in
            try await writer.write(ByteBuffer(string: text(fixture.get())))
            try await writer.finish(nil)
          })
      }
      let app: any ApplicationProtocol =
        way == .server
        ? Application(router: router, observedBy: fixture.tap) : Application(router: router)
      try await app.test(.ahc(.http)) { client in
        try await withThrowingTaskGroup { group in
          for number in 0..<40 {
            group.addTask { _ = try await client.execute(uri: "/calls/\(number % 8)", method: .get) }
          }
          try await group.waitForAll()
        }
      }
      var served: [String: Set<String>] = [:]
      for _ in 0..<(40 + 40 + 40 + 5 * 28) {
        let end = try await fixture.end()
        guard end.request.direction == .inbound, let time = end.upstream else { continue }
        let clients = time.clients.map { "\($0.name) \($0.requestCount)" }.sorted().joined(separator: ", ")
        served[end.request.url, default: []].insert(clients)
        #expect(time.duration <= end.duration)
      }
      let expected = (0..<8).map { ("/calls/\($0)", Set(["session 1, test \($0 + 1)"])) }
      #expect(served == Dictionary(uniqueKeysWithValues: expected))
    }
  }

  @Test(arguments: Way.allCases)
  func `headers that the log shows are recorded, and no others`(way: Way) async throws {
    let ends = try await ends(1, way) { client in
      let headers: HTTPFields = [.accept: "text/plain", .authorization: "secret"]
      _ = try await client.execute(uri: "/headers", method: .get, headers: headers)
    }
    #expect(ends.first?.request.headers == ["accept": "text/plain"])
    #expect(ends.first?.responseHeaders == ["x-served-by": "a7, b8"])
  }

  /// A middleware does not know it.
  @Test func `a request's version is the highest that the client of its connection has sent`() async throws {
    let ends = try await ends(5, .server) { client in
      let port = try #require(client.port)
      for versions in [["1.0", "1.0", "1.1", "1.1"], ["1.1"]] {
        let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
          .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
              try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
          }
        try await connection.executeThenClose { inbound, outbound in
          var parts = inbound.makeAsyncIterator()
          for version in versions {
            let head = "GET /hello HTTP/\(version)\r\nhost: a\r\nconnection: keep-alive\r\n\r\n"
            try await outbound.write(ByteBuffer(string: head))
            var answer = ""
            while !answer.hasSuffix("Hello") { answer += String(buffer: try #require(await parts.next())) }
          }
        }
      }
    }
    #expect(ends.map(\.protocolVersion) == [.http10, .http10, .http11, .http11, .http11])
  }

  @Test(arguments: Way.allCases)
  func `a request waits for its handler, then for its caller`(way: Way) async throws {
    let tap = try Tap(.observed(by: Seen()))
    let (isServed, mayRespond, isWritten, mayEnd) = (Event(), Event(), Event(), Event())
    let router = Router()
    if way == .middleware { router.add(middleware: TapMiddleware(tap)) }
    router.get("slow") { _, _ in
      isServed.open()
      await mayRespond.wait()
      return Response(
        status: .accepted,
        body: ResponseBody { writer in
          try await writer.write(ByteBuffer(string: "a part"))
          isWritten.open()
          await mayEnd.wait()
          try await writer.finish(nil)
        })
    }
    let app: any ApplicationProtocol =
      way == .server ? Application(router: router, observedBy: tap) : Application(router: router)
    try await app.test(.ahc(.http)) { client in
      async let response = client.execute(uri: "/slow", method: .get)
      await isServed.wait()
      #expect(tap.activeRequests().map(\.wait) == [.handler])
      mayRespond.open()
      await isWritten.wait()
      let known = try #require(tap.activeRequests().first)
      #expect(known.wait == .client && known.statusCode == 202)
      mayEnd.open()
      let answer = try await response
      #expect(answer.status == .accepted && String(buffer: answer.body) == "a part")
    }
    #expect(tap.activeRequests().isEmpty)
  }
}
