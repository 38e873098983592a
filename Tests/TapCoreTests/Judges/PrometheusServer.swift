import TestSupport

/// A real Prometheus with a folder of its own, on a free port, that scrapes a registry every second.
final class PrometheusServer: Sendable {
  private let origin: Origin
  private let process: ChildProcess
  private let folder: TemporaryFolder
  private let scrapes: Watched<(count: Int, last: Exposition?)>

  /// Starts to serve the registry and to scrape it.
  static func start(scraping registry: Registry, features: [String]) async throws -> PrometheusServer {
    let server = try PrometheusServer(scraping: registry, features: features)
    _ = try await Poll.until(seconds: 60, "a Prometheus that is ready") {
      try? await server.samples("vector(1)").first
    }
    try await server.waitForScrapes(1)
    return server
  }

  /// The port that the system chose, once Prometheus has written it in its log.
  private var port: Int? {
    process.output.firstMatch(of: /"Listening on".*address=127\.0\.0\.1:(\d+)\s/).flatMap { Int($0.1) }
  }

  private init(scraping registry: Registry, features: [String]) throws {
    let scrapes = Watched<(count: Int, last: Exposition?)>((0, nil))
    let handler = ScrapeHandler(registry: registry) { $0() }
    origin = try Origin { request in
      let answer = Mutex<Exposition?>(nil)
      let isDone = Gate()
      handler.scrape(accept: request.headers["accept"], acceptEncoding: request.headers["accept-encoding"]) {
        scrape in
        answer.withLock { $0 = scrape }
        isDone.open()
      }
      // Another connection's thread may be the one that works.
      isDone.waitBlocking()
      guard let scrape = answer.withLock({ $0 }) else { return [.close] }
      scrapes.change { $0 = ($0.count + 1, scrape) }
      var headers = [("Content-Type", scrape.contentType)]
      if let coding = scrape.contentEncoding { headers.append(("Content-Encoding", coding)) }
      return [.response(headers: headers, body: scrape.body)]
    }
    self.scrapes = scrapes
    folder = try TemporaryFolder()
    let configuration = """
      global: {scrape_interval: 1s, scrape_timeout: 1s}
      scrape_configs:
      - job_name: app
        static_configs: [{targets: ["127.0.0.1:\(origin.port)"]}]
      """
    process = try ChildProcess(
      Tool("prometheus").url,
      [
        "--config.file=\(folder.write(configuration, to: "prometheus.yml"))",
        "--storage.tsdb.path=\(folder("data"))", "--web.listen-address=127.0.0.1:0",
      ] + (features.isEmpty ? [] : ["--enable-feature=" + features.joined(separator: ",")]))
  }

  /// Ends the program, and then what it scrapes: the port may be another test's at once, which must get no
  /// scrape.
  deinit {
    process.send(SIGKILL)
    // Not here: a thread of Swift's tasks must not wait.
    Thread.detachNewThread { [process, origin, folder] in
      process.ended.waitBlocking(seconds: 20)
      origin.stop()
      folder.remove()
    }
  }

  var format: ExpositionFormat? { scrapes.state.last?.format }

  var isCompressed: Bool { scrapes.state.last?.contentEncoding == "gzip" }

  func waitForScrapes(_ count: Int) async throws {
    let wanted = scrapes.state.count + count
    try await scrapes.wait(seconds: 30, "scrape") { $0.count >= wanted }
  }

  /// Asks until Prometheus has the answer, one scrape after another: what was recorded before is in one of
  /// the next.
  func query(_ expression: String, until isRight: (Double) -> Bool = { _ in true }) async throws -> Double {
    var value: Double?
    for _ in 0..<40 {
      try await waitForScrapes(1)
      value = try await samples(expression).first?.value
      if let value, isRight(value) { return value }
    }
    throw NoAnswer(expression: expression, last: value)
  }

  func series(_ match: String) async throws -> [[String: String]] { try await samples(match).map(\.labels) }

  struct NoAnswer: Error {
    let expression: String
    let last: Double?
  }

  private func samples(
    _ expression: String
  ) async throws -> [(labels: [String: String], value: Double)] {
    guard let port else { throw URLError(.cannotConnectToHost) }
    var components = URLComponents()
    (components.scheme, components.host, components.port) = ("http", "127.0.0.1", port)
    components.path = "/api/v1/query"
    components.queryItems = [URLQueryItem(name: "query", value: expression)]
    guard let url = components.url else { throw URLError(.badURL) }
    let (body, _) = try await URLSession.shared.data(from: url)
    let data = try jsonObject(String(decoding: body, as: UTF8.self))["data"] as? [String: Any]
    return (data?["result"] as? [[String: Any]] ?? []).map { sample in
      // `[time, "value"]`; a native histogram has none.
      let value = (sample["value"] as? [Any])?.last as? String
      return (sample["metric"] as? [String: String] ?? [:], value.flatMap { Double($0) } ?? .nan)
    }
  }
}
