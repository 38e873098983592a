import TapEndpoint
import TapPage
import TestSupport

/// Requests for the page to draw, and a look at it.
struct PageContent: Sendable {
  /// A text that is none of the page's.
  static let hostile = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>"

  let registry = Registry()
  let metrics: RequestDriver

  /// - Parameters:
  ///   - buckets: Those of the durations.
  ///   - waitingLimit: After what time a request waits.
  init(buckets: HistogramBuckets? = nil, waitingLimit: Duration? = nil) throws {
    metrics = try RequestDriver(registry: registry, keepsHistory: true) {
      if let buckets { $0.durationBuckets = buckets }
      if let waitingLimit { $0.waitingLimit = waitingLimit }
    }
  }

  func request(client: String = "payments", host: String = "a", template: String? = "/users/{id}")
    -> RequestDescription
  {
    RequestDescription(
      client: client, method: "GET", url: "https://\(host)/", serverAddress: host, serverPort: 443,
      urlTemplate: template)
  }

  /// - Parameter phases: In milliseconds, too.
  func record(
    _ count: Int, _ request: RequestDescription, _ ms: Int,
    _ end: RequestEnd = .response(statusCode: 200), phases: [RequestTimings.Phase: Int] = [:],
    opened: Int? = nil, roundTrip: Duration? = nil, sentAgain: Int? = nil
  ) {
    for _ in 0..<count {
      metrics.record(request, end) { observation in
        // It has just ended, as lines of the log that a test writes after it.
        observation.start.nanosecondsSinceEpoch -= Int64(ms) * 1_000_000
        observation.duration = .milliseconds(ms)
        for (phase, time) in phases { observation.timings[phase] = .milliseconds(time) }
        (observation.openedConnections, observation.networkRoundTrip) = (opened, roundTrip)
        observation.retransmittedSegments = sentAgain
      }
    }
  }

  func serve(_ count: Int, _ method: String = "GET", route: String?, _ ms: Int, statusCode: Int = 200) {
    let request = RequestDescription(direction: .inbound, method: method, url: "/", urlTemplate: route)
    record(count, request, ms, .response(statusCode: statusCode))
  }

  /// Opens the page in a browser.
  ///
  /// - Parameters:
  ///   - log: The lines that it finds at `/logs`.
  ///   - routes: What it finds elsewhere, instead of what was recorded.
  ///   - choice: What its address says after `#`.
  ///   - isSound: Whether nothing goes wrong in it.
  func show(
    log: String? = nil, _ routes: [EndpointRoute] = [], choice: String = "", isSound: Bool = true,
    _ body: (Browser) async throws -> Void
  ) async throws {
    var all = routes
    if let log { all.append(.answering("/logs") { _ in log }) }
    var line: (@Sendable (RequestSnapshot) -> String)?
    if all.contains(where: { $0.path == "/logs" }) { line = { _ in "{}" } }
    // Of two with the same path, the first is used.
    all.append(try .metrics(of: registry))
    all += EndpointRoute.page(of: metrics.recorder, line: line)
    let endpoint = Endpoint(configuration: .init(address: .loopback(port: 0)), routes: all)
    let port = try endpoint.start().port
    try await Browser.use { browser in
      try await browser.show(width: 1280)
      try await browser.open("http://127.0.0.1:\(port)/#\(choice)")
      try await body(browser)
      #expect(browser.complaints == [] || !isSound)
    }
    await endpoint.shutdown(within: .zero)
  }

  /// A line of the log about a request that ended just now, with these members more.
  static func line(
    _ members: String, host: String = "a.test", path: String = "/users/1", template: String = "/users/{id}"
  ) -> String {
    // To the next millisecond, so that it is after what was recorded before.
    let time = (Date.now + 0.001).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return
      #"{"timestamp":"\#(time)","severity":"ERROR","event":"http.client.request","client.name":"payments","http.request.method":"GET","url.full":"https://\#(host)\#(path)","url.template":"\#(template)","server.address":"\#(host)","server.port":443,\#(members)}"#
      + "\n"
  }

  /// A file of the page as it travels.
  static func answer(to path: String, accepting coding: String? = nil) async throws -> EndpointResponse {
    let request = EndpointRequest(path: path, headers: coding.map { ["Accept-Encoding": $0] } ?? [:])
    let page = EndpointRoute.page(of: try PageContent().metrics.recorder)
    return try await #require(page.first { $0.path == path }).answer(request)
  }
}

extension EndpointRoute {
  /// Its answer, which is made on another thread than the one that asks: in an endpoint that is the one of
  /// all connections.
  func answer(_ request: EndpointRequest) async throws -> EndpointResponse {
    guard case .deferred(let start) = handler else {
      throw TestFailure("it is made on the queue of all connections")
    }
    return await withCheckedContinuation { continuation in
      let connections = ObjectIdentifier(Thread.current)
      _ = start(request) { response in
        #expect(ObjectIdentifier(Thread.current) != connections)
        continuation.resume(returning: response)
      }
    }
  }

  /// What a test gives the page to read.
  static func answering(
    _ path: String, _ text: @escaping @Sendable (EndpointRequest) -> String
  ) -> EndpointRoute {
    .immediate(path) { EndpointResponse(body: Array(text($0).utf8)) }
  }
}
