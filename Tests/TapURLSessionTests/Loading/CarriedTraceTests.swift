import TestSupport

@testable import TapURLSession

/// A request that nobody gave a trace has that of where it was made.
struct CarriedTraceTests {
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
    expectEqual(traces.map(\.?.traceID), expected.map(\.?.traceID))
    expectEqual(traces.map(\.?.isSampled), expected.map(\.?.isSampled))
    #expect(zip(traces, expected).allSatisfy { $0 == nil || $0?.spanID != $1?.spanID })
    expectEqual(origin.requests.map { $0.headers["traceparent"] }, [nil, nil, nil, nil])
  }

  /// Each lane makes one call after the other, under a client's name of its own. Each call is in a trace of
  /// its own, or outside of any.
  @Test func `each request has its own trace, also where all are made of one value`() async throws {
    let origin = try Origin(keepsRequests: false) { _ in [.response()] }
    let (tap, observer) = URLSessionTap.observed()
    let (calls, request) = (Extent.of(16, extensive: 40), URLRequest(url: origin.url()))
    let lanes = (0..<16).map { "lane \($0)" }
    let traces: [[TraceContext?]] = lanes.map { _ in (0..<calls).map { $0 % 8 == 7 ? nil : .random() } }
    try await withThrowingTaskGroup { group in
      for (client, traces) in zip(lanes, traces) {
        group.addTask {
          let session = tap.session(client: client)
          defer { session.finishTasksAndInvalidate() }
          for trace in traces {
            _ = try await TraceContext.$current.withValue(trace) { try await session.data(for: request) }
          }
        }
      }
      try await group.waitForAll()
    }
    tap.flush()
    let recorded = Dictionary(grouping: observer.ended, by: \.request.client)
    for (client, traces) in zip(lanes, traces) {
      expectEqual(recorded[client]?.map(\.request.traceContext?.traceID), traces.map(\.?.traceID))
    }
  }

  /// A question that an app's own chain of protocols asks is no task's: 20 requests of the same value follow.
  @Test func `a question that no loader follows keeps nothing of the request, nor spoils a trace`()
    async throws
  {
    final class Body: InputStream {
      nonisolated(unsafe) static weak var newest: Body?
    }
    let origin = try Origin { _ in [.response()] }
    let (tap, observer) = URLSessionTap.observed()
    let configuration = tap.sessionConfiguration(from: .ephemeral, client: "test")
    let metricsClass = try #require(configuration.protocolClasses?.first as? URLProtocol.Type)
    do {
      let body = Body(data: Data([1]))
      Body.newest = body
      let upload = with(URLRequest(url: origin.url())) { $0.httpBodyStream = body }
      #expect(metricsClass.canInit(with: upload))
    }
    #expect(Body.newest == nil)
    let request = URLRequest(url: origin.url())
    let session = URLSession(configuration: configuration)
    defer { session.finishTasksAndInvalidate() }
    let traces: [TraceContext] = (0..<20).map { _ in .random() }
    for trace in traces {
      TraceContext.$current.withValue(.random()) { #expect(metricsClass.canInit(with: request)) }
      _ = try await TraceContext.$current.withValue(trace) { try await session.data(for: request) }
    }
    tap.flush()
    expectEqual(observer.ended.map(\.request.traceContext?.traceID), traces.map(\.traceID))
  }

  private func carried(_ trace: TraceContext?, in context: AnyObject) -> CarriedRequests.Carried {
    .init(trace: trace, loader: URLProtocol.self, context: context)
  }

  @Test func `what was last asked on a queue is carried from there, once`() throws {
    let requests = CarriedRequests(limit: 10)
    let (one, other) = (TraceContext.random(), TraceContext.random())
    let queues = (0..<2).map { _ in DispatchQueue(label: "the same") }
    for (queue, trace) in [(queues[0], other), (queues[0], one), (queues[1], other)] {
      queue.sync { requests.add(carried(trace, in: requests)) }
    }
    let taken = queues.map { queue in
      queue.sync { (0..<2).map { _ in requests.take(from: .current)?.trace } }
    }
    #expect(taken == [[one, nil], [other, nil]] && requests.count == 0)
    #expect(requests.take(from: nil) == nil)
  }

  @Test func `of what is never taken two generations are kept`() throws {
    let requests = CarriedRequests(limit: 3)
    let queues = (0..<9).map { DispatchQueue(label: "queue \($0)") }
    var counts: [Int] = []
    for queue in queues {
      queue.sync { requests.add(carried(.random(), in: requests)) }
      counts.append(requests.count)
    }
    #expect(counts == [1, 2, 3, 4, 5, 3, 4, 5, 3])
    let taken = queues.map { queue in queue.sync { requests.take(from: .current) != nil } }
    #expect(taken == [false, false, false, false, false, false, true, true, true])
  }

  @Test func `a task has the queue on which Foundation asks`() throws {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let tasks = (0..<2).map { _ in session.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/"))) }
    let queues = tasks.map { TaskQueue(of: $0) }
    #expect(queues[0] != nil && queues[0] == TaskQueue(of: tasks[0]) && queues[0] != queues[1])
  }
}
