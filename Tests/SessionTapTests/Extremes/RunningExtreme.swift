import SessionTap
import TestSupport

struct ExtremeFault: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// What a step of a trial may use while its tap runs.
struct RunningExtreme: Sendable {
  let tap: Tap
  let origin: Origin
  /// New for each step. What is registered there must be well-formed in the end.
  let registry = Registry()

  func expect(_ isTrue: Bool, _ fault: @autoclosure () -> String) throws {
    if !isTrue { throw ExtremeFault(fault()) }
  }

  /// Makes a request in a session of the tap's, which must get its whole answer.
  func request(_ session: URLSession, context: TapRequestContext? = nil) async throws {
    var request = URLRequest(url: origin.url("/users/42;v=1?card=4242"))
    // Longer than a word: known methods are looked up by their bytes.
    request.httpMethod = "PROPPATCH"
    request.tapContext = context
    let (body, _) = try await session.data(for: request)
    try expect(body == Data(Self.body), "the request got \(body.count) bytes")
    session.finishTasksAndInvalidate()
  }

  func session(client: String = "extreme") -> URLSession {
    URLSession(configuration: tap.sessionConfiguration(from: .ephemeral, client: client))
  }

  /// Runs an endpoint of its own, which answers these requests, and then has one connection to close.
  ///
  /// - Returns: The answers.
  @discardableResult
  func serve(
    _ routes: [EndpointRoute] = [.liveness()], by configuration: Endpoint.Configuration? = nil,
    _ requests: [String] = ["GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"], within time: Duration = .seconds(60)
  ) async throws -> [String] {
    let configuration = configuration ?? Endpoint.Configuration(address: .loopback(port: 0))
    let endpoint = Endpoint(configuration: configuration, routes: routes)
    let address = try endpoint.start()
    var answers: [String] = []
    for request in requests { answers.append(await (try RawClient(port: address.port)).exchange(request)) }
    let idle = try RawClient(port: address.port)
    await endpoint.shutdown(within: time)
    let rest = await idle.receiveAll().text
    try expect(rest.isEmpty, "a connection without a request got \(rest)")
    return answers
  }

  /// The same, with an answer to each request, if the start is not refused with one of these errors.
  func serveAll(
    _ routes: [EndpointRoute] = [.liveness()], by configuration: Endpoint.Configuration? = nil,
    _ requests: [String] = ["GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"], with start: String = "HTTP/1.1 ",
    or codes: EndpointError.Code...
  ) async throws {
    do {
      for (request, answer) in zip(requests, try await serve(routes, by: configuration, requests)) {
        try expect(answer.hasPrefix(start), "\(request.prefix(50)) is answered with \(answer.prefix(50))")
      }
    } catch let error as EndpointError where !codes.isEmpty {
      try expect(codes.contains(error.code), "\(error)")
    }
  }

  /// Records an observation, and writes it to the log in both directions.
  func record(_ observation: RequestObservation) throws {
    let metrics = try RequestDriver(registry: registry)
    metrics.record(observation.request) { $0 = observation }
    var observation = observation
    for direction in RequestDirection.allCases {
      observation.request.direction = direction
      tap.requestLog?.requestEnded(observation)
    }
    let recorded = registry.value(of: "http_client_request_duration_seconds_count")
    try expect(recorded == 1, "the observation is recorded \(recorded ?? 0) times")
  }

  private static let body = [UInt8](repeating: UInt8(ascii: "b"), count: 100)

  /// Serves the requests of every trial, and plays the Pushgateway.
  static func makeOrigin() throws -> Origin {
    try Origin(keepsRequests: false) { request in
      if request.method == "PUT" { return [.response(), .close] }
      if request.path == "/challenge" {
        return [.response("401 Unauthorized", headers: [("WWW-Authenticate", "Basic realm=\"cellar\"")])]
      }
      return [.response("200 OK", headers: [("X-Served-By", "a7")], body: body)]
    }
  }
}
