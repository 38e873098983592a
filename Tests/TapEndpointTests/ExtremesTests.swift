import Synchronization
import TapCore
import TestSupport
import Testing

@testable import TapEndpoint

/// Every number and duration of the public API at its extremes: a typed error, or something that works.
@Suite struct ExtremesTests {
  /// A duration by its name: the standard library cannot describe those of more than `Int64.max` seconds.
  struct Time: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let duration: Duration

    init(_ name: String, _ duration: Duration) {
      testDescription = name
      self.duration = duration
    }
  }

  /// One setting at one value.
  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let limits: Endpoint.Configuration.Limits

    init<Value>(
      _ name: String, _ limit: WritableKeyPath<Endpoint.Configuration.Limits, Value>, _ value: Value,
      _ valueName: String
    ) {
      testDescription = "\(name) = \(valueName)"
      var limits = Endpoint.Configuration.Limits()
      limits[keyPath: limit] = value
      self.limits = limits
    }
  }

  static let integers: [Int] = [.min, -1, 0, 1, 1 << 46, .max]
  static let times = [
    Time("Int64.min * 10 s", .seconds(Int64.min) * 10), Time("Int64.min s", .seconds(Int64.min)),
    Time("-1 s", .seconds(-1)), Time("0 s", .zero), Time("a day", .seconds(86_400)),
    Time("Int64.max s", .seconds(Int64.max)), Time("Int64.max * 10 s", .seconds(Int64.max) * 10),
  ]

  static let cases: [Case] =
    integers.flatMap { value in
      [
        Case("headBytes", \.headBytes, value, "\(value)"),
        Case("headerCount", \.headerCount, value, "\(value)"),
        Case("bodyBytes", \.bodyBytes, value, "\(value)"),
        Case("connections", \.connections, value, "\(value)"),
        Case("requestsInFlight", \.requestsInFlight, value, "\(value)"),
        Case("pipelinedRequests", \.pipelinedRequests, value, "\(value)"),
      ]
    }
    + times.flatMap { time in
      [
        Case("headDeadline", \.headDeadline, time.duration, time.testDescription),
        Case("bodyDeadline", \.bodyDeadline, time.duration, time.testDescription),
        Case("idleDeadline", \.idleDeadline, time.duration, time.testDescription),
        Case("answerDeadline", \.answerDeadline, time.duration, time.testDescription),
        Case("writeDeadline", \.writeDeadline, time.duration, time.testDescription),
      ]
    }

  @Test(arguments: cases)
  func `a limit is refused or holds`(_ testCase: Case) async throws {
    let routes = [
      EndpointRoute("/", methods: [.get, .post]) { request in .text("\(request.body.count)") },
      EndpointRoute(
        "/stream",
        immediate: { _ in EndpointResponse(body: .stream(length: .max) { try await $0.write([0]) }) }),
    ]
    var configuration = Endpoint.Configuration(address: .loopback(port: 0))
    configuration.limits = testCase.limits
    let endpoint = Endpoint(configuration: configuration, routes: routes)
    let port: Int
    do throws(EndpointError) {
      port = try endpoint.start().port ?? 0
    } catch {
      #expect(error.code == .invalidConfiguration)
      return
    }
    for request in [
      "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(Int.max)\r\n\r\nx",
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\nx",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\nffffffffffffffff\r\nx",
    ] {
      let client = try RawClient(port: port)
      client.send(request)
      client.endOutput()
      #expect(await client.receiveAll().text.hasPrefix("HTTP/1.1 ") || request.contains("/stream"))
    }
    await endpoint.shutdown(within: .seconds(60))
  }

  @Test(arguments: times)
  func `a shutdown takes any time`(_ time: Time) async throws {
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: [])
    let port = try #require(try endpoint.start().port)
    let client = try RawClient(port: port)
    await endpoint.shutdown(within: time.duration)
    #expect(await client.receiveAll().text == "")
  }

  @Test(arguments: times)
  func `a push is tried within any time`(_ time: Time) async throws {
    let origin = try Origin { _ in [.response()] }
    defer { origin.stop() }
    var retry = PushRetry()
    retry.deadline = time.duration
    retry.attempts = 1
    let gateway = try PushGateway("http://127.0.0.1:\(origin.port)", job: "test")
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, retry: retry)
    if time.duration > .zero {
      try await pusher.push()
    } else {
      let error = await #expect(throws: PushError.self) { try await pusher.push() }
      #expect(error?.isTransient == true)
    }
  }

  @Test(arguments: times, times)
  func `a retry waits between nothing and a day`(first: Time, maximum: Time) {
    var retry = PushRetry()
    retry.firstDelay = first.duration
    retry.maximumDelay = maximum.duration
    for attempt in [.min, -1, 0, 1, 2, 64, .max] {
      let delay = retry.delay(after: attempt, jitter: 0)
      #expect((.zero ... .seconds(86_400)).contains(delay))
      #expect(delay <= max(maximum.duration, .zero))
    }
  }

  @Test(arguments: integers)
  func `a push is tried at least once`(attempts: Int) async throws {
    let closed = try ClosedPort()
    var retry = PushRetry()
    retry.attempts = attempts
    let tries = Atomic(0)
    let gateway = try PushGateway("http://127.0.0.1:\(closed.port)", job: "test")
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, retry: retry) { _ in
      // Enough to see that it goes on.
      if tries.add(1, ordering: .relaxed).newValue == 3 { throw CancellationError() }
    }
    await #expect(throws: PushError.self) { try await pusher.push() }
    #expect(tries.load(ordering: .relaxed) == min(max(attempts, 1) - 1, 3))
  }

  @Test(arguments: times)
  func `pushes are made at any interval`(_ interval: Time) async throws {
    let closed = try ClosedPort()
    let gateway = try PushGateway("http://127.0.0.1:\(closed.port)", job: "test")
    var retry = PushRetry()
    retry.attempts = 1
    let pusher = try MetricsPusher(registry: Registry(), to: gateway, retry: retry)
    let failed = Gate()
    let run = Task { await pusher.run(every: interval.duration) { _ in failed.open() } }
    if interval.duration < .seconds(1) {
      try await failed.wait("a push")
    } else {
      // Until it sleeps, or has ended the process.
      for _ in 0..<100 { await Task.yield() }
    }
    run.cancel()
    await run.value
    #expect(failed.isOpen)
  }

  @Test(arguments: integers)
  func `any port and status is an error`(_ value: Int) async throws {
    let address = EndpointAddress.tcp(host: "127.0.0.1", port: value)
    if value > 1 || value < 0 {
      let error = #expect(throws: EndpointError.self) {
        try Endpoint(configuration: .init(address: address), routes: []).start()
      }
      #expect(error?.code == .invalidConfiguration)
    }
    let route = EndpointRoute("/", immediate: { _ in EndpointResponse(status: .init(rawValue: value)) })
    try await withEndpoint(routes: [route]) { port in
      let answer = try await RawClient.get("/", port: port)
      #expect(answer.hasPrefix("HTTP/1.1 500 "))
    }
  }

  @Test(arguments: [
    "", " ", "\0", "127.0.0.1\0x", "[", "[]", "[::1", "a b", String(repeating: "a", count: 100_000),
  ])
  func `any host is an error`(_ host: String) {
    let error = #expect(throws: EndpointError.self) {
      try Endpoint(configuration: .init(address: .tcp(host: host, port: 0)), routes: []).start()
    }
    #expect(error?.code == .addressNotAvailable)
  }

  @Test(arguments: times)
  func `nanoseconds are as near as they can be`(_ time: Time) {
    let expected = min(max(time.duration, .nanoseconds(Int64.min)), .nanoseconds(Int64.max))
    #expect(Duration.nanoseconds(time.duration.nanoseconds) == expected)
    #expect(Duration(secondsComponent: -1, attosecondsComponent: -1).nanoseconds == -1_000_000_000)
  }
}
