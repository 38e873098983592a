import TestSupport

@testable import TapURLSession

/// A request that nobody gave a trace has that of where it was made, exactly or not at all.
@Suite struct CarriedTraceTests {
  private func request(_ url: String = "http://host.test/") throws -> URLRequest {
    URLRequest(url: try #require(URL(string: url)))
  }

  /// With a cache Foundation makes the loader on another thread, and without one where the task is resumed.
  @Test(arguments: Kind.allCases, Style.allCases)
  func `a request belongs to the trace in which its task is resumed, and sends nothing of it`(
    kind: Kind, style: Style
  ) async throws {
    guard kind.exists(in: style) else { return }
    let origin = try Origin { _ in [.response()] }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let (cached, plain) = (URLSessionConfiguration.default, URLSessionConfiguration.ephemeral)
    cached.urlCache = URLCache(memoryCapacity: 100_000, diskCapacity: 0, diskPath: nil)
    plain.urlCache = nil
    var expected: [TraceContext?] = []
    for configuration in [cached, plain] {
      let tapped = tap.sessionConfiguration(from: configuration, client: "test")
      for trace in [TraceContext.random(isSampled: true), nil] {
        let request = with(URLRequest(url: origin.url())) { $0.httpMethod = kind.sendsBody ? "POST" : "GET" }
        let call = AppCall(kind: kind, style: style, request: request)
        let made = try await TraceContext.$current.withValue(trace) { try await call.run(tapped) }
        #expect(made.status == 200)
        expected.append(trace)
      }
    }
    tap.flush()
    let traces = observer.ended.map(\.request.traceContext)
    #expect(traces.map(\.?.traceID) == expected.map(\.?.traceID))
    #expect(traces.map(\.?.isSampled) == expected.map(\.?.isSampled))
    #expect(zip(traces, expected).allSatisfy { $0 == nil || $0?.spanID != $1?.spanID })
    #expect(origin.requests.map { $0.headers["traceparent"] } == [nil, nil, nil, nil])
  }

  @Test func `what the app gave a request goes first`() async throws {
    let origin = try Origin { _ in [.response()] }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let trace = TraceContext.random()
    let (own, sent) = (RequestContextTests.context, RequestContextTests.trace)
    let requests = [
      with(URLRequest(url: origin.url())) { $0.setValue(sent, forHTTPHeaderField: "traceparent") },
      with(URLRequest(url: origin.url())) { $0.tapContext = own },
      // A header that is none is ignored.
      with(URLRequest(url: origin.url())) { $0.setValue("00-1-2-3", forHTTPHeaderField: "traceparent") },
    ]
    for request in requests {
      let call = AppCall(kind: .data, style: .async, request: request)
      _ = try await TraceContext.$current.withValue(trace) {
        try await call.run(tap.sessionConfiguration(client: "test"))
      }
    }
    tap.flush()
    let traces = observer.ended.map(\.request.traceContext)
    #expect(traces.prefix(2) == [own.traceContext, own.traceContext])
    #expect(traces.last??.traceID == trace.traceID)
  }

  /// Foundation refuses it without a loader.
  @Test func `a request that is refused has its trace`() async throws {
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let trace = TraceContext.random()
    let call = AppCall(kind: .data, style: .async, request: try request("HTTP://host.test/"))
    _ = try await TraceContext.$current.withValue(trace) {
      try await call.run(tap.sessionConfiguration(client: "test"))
    }
    tap.flush()
    #expect(observer.ended.map(\.request.traceContext?.traceID) == [trace.traceID])
  }

  /// Each lane makes one call after the other, each in a trace of its own, under a client's name of its own:
  /// so it is known which line is which.
  @Test(arguments: [false, true])
  func `no request has the trace of another, also where all are made of one value`(
    isShared: Bool
  ) async throws {
    let origin = try Origin(keepsRequests: false) { _ in [.response()] }
    let observer = RecordingObserver()
    let tap = URLSessionTap(observers: [observer])
    let calls = Extent.of(16, extensive: 40)
    let shared = URLRequest(url: origin.url())
    let made = try await withThrowingTaskGroup(of: (String, [String?]).self) { group in
      for lane in 0..<16 {
        group.addTask {
          let session = URLSession(
            configuration: tap.sessionConfiguration(from: .ephemeral, client: "lane \(lane)"))
          defer { session.finishTasksAndInvalidate() }
          var traces: [String?] = []
          for call in 0..<calls {
            // Some of them outside of any trace.
            let trace = call % 8 == 7 ? nil : TraceContext.random()
            traces.append(trace?.traceID)
            let request = isShared ? shared : URLRequest(url: origin.url())
            _ = try await TraceContext.$current.withValue(trace) { try await session.data(for: request) }
          }
          return ("lane \(lane)", traces)
        }
      }
      return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    tap.flush()
    let ended = Dictionary(grouping: observer.ended, by: \.request.client)
    var known = 0
    for (client, traces) in made {
      let recorded = ended[client]?.map(\.request.traceContext?.traceID) ?? []
      try #require(recorded.count == calls)
      for (recorded, trace) in zip(recorded, traces) {
        #expect(recorded == trace || (isShared && recorded == nil))
        if recorded != nil { known += 1 }
      }
    }
    let count = 16 * (0..<calls).count { $0 % 8 != 7 }
    if isShared { print("of one value: \(known) of \(count) traces are known") }
  }

  @Test func `a trace is carried to the loader that was asked for, once`() throws {
    let (carried, trace) = (CarriedRequests(limit: 10), TraceContext.random())
    let (one, other) = (try request(), try request())
    carried.add(TaskRequest(one), in: trace)
    #expect(carried.take(other).parent == nil)
    let copy = one
    #expect(carried.take(copy).parent == trace)
    #expect(carried.take(one).parent == nil)
  }

  @Test func `what is pending of one value has a trace if all of it has the same`() throws {
    let (carried, request) = (CarriedRequests(limit: 10), try request())
    let (one, other) = (TraceContext.random(), TraceContext.random())
    let cases: [([TraceContext?], TraceContext?)] = [
      ([one, one], one), ([one, other], nil), ([one, nil], nil), ([nil, one], nil),
    ]
    for (pending, expected) in cases {
      for trace in pending { carried.add(TaskRequest(request), in: trace) }
      #expect(carried.take(request).parent == expected)
      #expect(carried.take(request).parent == expected)
    }
    // It is over with the last of them.
    carried.add(TaskRequest(request), in: one)
    carried.add(TaskRequest(request), in: other)
    _ = carried.take(request)
    carried.add(TaskRequest(request), in: one)
    #expect(carried.take(request).parent == nil)
    #expect(carried.take(request).parent == nil)
    carried.add(TaskRequest(request), in: one)
    #expect(carried.take(request).parent == one)
  }

  @Test func `where loaders are asked for and not made, nothing is carried any more, nor kept`() throws {
    let (carried, trace) = (CarriedRequests(limit: 3), TraceContext.random())
    let requests = try (0..<5).map { try request("http://host.test/\($0)") }
    for request in requests { carried.add(TaskRequest(request), in: trace) }
    #expect(requests.allSatisfy { carried.take($0).parent == nil })
    #expect(carried.pendingCount == 0)
    carried.add(TaskRequest(requests[0]), in: trace)
    #expect(carried.take(requests[0]).parent == nil)
    // As many as there is room for, and more of one value, are no reason.
    let full = CarriedRequests(limit: 3)
    let pending = Array(requests.prefix(3)) + [requests[0]]
    for request in pending { full.add(TaskRequest(request), in: trace) }
    #expect(pending.allSatisfy { full.take($0).parent == trace })
    // One more is one.
    for request in requests.prefix(4) { full.add(TaskRequest(request), in: trace) }
    #expect(full.take(requests[0]).parent == nil)
  }

  @Test func `it is told once on standard error`() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let carried = CarriedRequests(limit: 2)
      for number in 0..<4 {
        let url = try #require(URL(string: "http://host.test/\(number)"))
        carried.add(TaskRequest(URLRequest(url: url)), in: nil)
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    let lines = text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("session-tap") }
    let expected =
      "session-tap: warning: requests have no trace but their own any more: "
      + "2 times canInit took a request whose loader was not made"
    #expect(lines == [expected])
  }
}
