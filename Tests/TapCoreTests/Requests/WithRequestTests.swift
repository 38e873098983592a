import TestSupport

@testable import TapCore

@Suite struct WithRequestTests {
  private struct Refused: Error, CustomStringConvertible { let description = "token s3cret refused" }

  private let observer = RecordingObserver()

  func make() throws -> RequestRecorder { try RequestRecorder(registry: Registry(), consumers: [observer]) }

  @Test func `a served request ends as the operation says, within its trace`() async throws {
    let recorder = try make()
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let inside = await recorder.inbound.withRequest(
      method: "GET", path: "/users/42", scheme: "https", traceparent: header, clientAddress: "192.0.2.7",
      fields: ["tenant": "acme"]
    ) { request in
      request.end(statusCode: 404, route: "/users/{id}", responseBodySize: 9)
      return (request.trace, TraceContext.current)
    }
    recorder.drain()
    #expect(observer.ended.count == 1)
    let seen = try #require(observer.ended.first)
    #expect(inside.0 == inside.1 && inside.0.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(TraceContext.current == nil)
    #expect((seen.end, seen.responseBodySize) == (.response(statusCode: 404), 9))
    #expect(
      seen.request
        == RequestDescription(
          direction: .inbound, method: "GET", url: "/users/42", urlTemplate: "/users/{id}", scheme: "https",
          clientAddress: "192.0.2.7", traceContext: inside.0, fields: ["tenant": "acme"]))
  }

  @Test
  func `a request that is made is what the adapter tells of it, in its trace or a child of the current one`()
    async throws
  {
    let recorder = try make()
    let (parent, own) = (TraceContext.random(isSampled: true), TraceContext.random(isSampled: true))
    let (url, fields): (String, [String: FieldValue]) = ("https://[::1]:81/a", ["tenant": "acme"])
    let end = { @Sendable (request: ActiveRequest) async -> TraceContext? in
      request.end(statusCode: 200, requestBodySize: 3, responseBodySize: 5)
      return TraceContext.current
    }
    let current = await TraceContext.$current.withValue(parent) {
      await recorder.outbound.withRequest(
        client: "search", method: "PUT", url: url, urlTemplate: "/q", fields: fields, end)
    }
    let told = await recorder.outbound.withRequest(
      client: "search", method: "PUT", url: url, urlTemplate: "/q", trace: own, fields: fields, end)
    let child = try #require(current)
    #expect(
      child.traceID == parent.traceID && child.spanID != parent.spanID && child.isSampled && told == own)
    recorder.drain()
    let expected = [child, own].map { trace in
      RequestDescription(
        client: "search", method: "PUT", url: url, serverAddress: "::1", serverPort: 81, urlTemplate: "/q",
        traceContext: trace, fields: fields)
    }
    #expect(observer.ended.map(\.request) == expected)
    #expect(observer.ended.map { [$0.requestBodySize, $0.responseBodySize] } == [[3, 5], [3, 5]])
  }

  @Test(arguments: [false, true])
  func `each header that a log shows is read, of a request and of its response, and no other`(areShown: Bool)
    async throws
  {
    let names =
      areShown ? HeaderNames(request: ["C", "a", "B"], response: ["F", "D", "e"]) : HeaderNames()
    let recorder = try RequestRecorder(registry: Registry(), headers: names, consumers: [observer])
    var asked: [String] = []
    func value(of name: String) -> String? {
      asked.append(name)
      return ["b", "e"].contains(name) ? nil : "of \(name)"
    }
    let url = "http://a/"
    await recorder.outbound.withRequest(client: "c", method: "GET", url: url, headers: value) {
      $0.end(statusCode: 200, responseHeaders: value)
    }
    await recorder.inbound.withRequest(method: "GET", path: "/", headers: value) {
      $0.fail(responseHeaders: value)
    }
    recorder.drain()
    #expect(observer.ended.map(\.end) == [.response(statusCode: 200), .failure(.other, statusCode: nil)])
    let all = ["a", "b", "c", "d", "e", "f"]
    #expect(asked == (areShown ? all + all : []))
    for seen in observer.ended {
      #expect(seen.request.headers == (areShown ? ["a": "of a", "c": "of c"] : [:]))
      #expect(seen.responseHeaders == (areShown ? ["d": "of d", "f": "of f"] : [:]))
    }
  }

  @Test func `a request ends as its operation does, unless that has ended it, with no text of an error`()
    async throws
  {
    let recorder = try make()
    let rows: [(operation: @Sendable (ActiveRequest) async throws -> Void, throws: Bool, end: RequestEnd)] = [
      ({ _ in }, false, .response(statusCode: nil)),
      ({ _ in throw Refused() }, true, .failure(.other, statusCode: nil)),
      ({ _ in throw CancellationError() }, true, .cancelled),
      (
        { _ in
          withUnsafeCurrentTask { $0?.cancel() }
          throw Refused()
        }, true, .cancelled
      ),
      (
        { request in
          request.end(statusCode: 403)
          throw Refused()
        }, true, .response(statusCode: 403)
      ),
    ]
    for (operation, throwsError, _) in rows {
      let task = Task { try await recorder.inbound.withRequest(method: "GET", path: "/", operation) }
      let result = await task.result
      #expect(throwsError == ((try? result.get()) == nil))
    }
    recorder.drain()
    #expect(observer.ended.map(\.end) == rows.map(\.end))
    let type = String(reflecting: Refused.self)
    #expect(observer.ended.map(\.exceptionType) == [nil, type, nil, nil, nil])
    #expect(observer.ended.allSatisfy { $0.errorMessage == nil })
  }

  @Test func `a request leaves an exemplar if its trace is sampled, or by choice`() async throws {
    let rows: [(ExemplarPolicy, String, Bool)] = [
      (.none, "01", false), (.sampled, "01", true), (.sampled, "00", false), (.all, "01", true),
      (.all, "00", true),
    ]
    for (policy, flags, isKept) in rows {
      let registry = Registry()
      let isDefault = policy == .sampled
      let recorder =
        try isDefault
        ? RequestRecorder(registry: registry) : RequestRecorder(registry: registry, exemplars: policy)
      let trace = "0af7651916cd43dd8448eb211c80319c"
      let sent = "00-\(trace)-b7ad6b7169203331-\(flags)"
      await recorder.inbound.withRequest(method: "GET", path: "/", traceparent: sent) {
        $0.end(statusCode: 200)
      }
      #expect(registry.exposition(in: .openMetrics).text.contains(trace) == isKept, "\(policy) \(flags)")
    }
  }
}
